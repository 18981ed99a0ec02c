r"""Small markdown documents, by what is particular about each; the tests cut them at every place.

Written for this project. Line ends and tabs that matter are spelled (`\r`, `\t`); the rest is as a model would send it.
"""

DOCUMENTS: dict[str, str] = {
    # -- paragraphs and line breaks
    "nothing": "",
    "only blank lines": "\n\n   \n\t\n\n",
    "one word": "word",
    "two paragraphs": "The first one.\nStill the first.\n\nThe second one.\n",
    "blank lines with spaces": "one\n   \ntwo\n \t \nthree\n\n\n\n",
    "hard breaks": "two spaces  \nbackslash\\\nno break\nat the end  \n",
    "indented paragraphs": "   three spaces\n  two\n\n a lazy\n      continuation far in\n",
    "a long line": "word " * 30 + "**bold " * 3 + "end** and more.\n\nShort.\n",
    # -- headings
    "atx headings": "# One\n## Two ##\n### Three #not closed\n#### \n####### seven\n#no space\n",
    "setext headings": "First\n=====\n\nSecond\nline\n---\n\nnot one\n\n===\n",
    "a rule or a setext heading": "text\n---\n\n---\ntext\n***\ntext\n- - -\n",
    "setext grows out of a list": "- item\n---\n- item\n  ---\n- a\nb\n===\n",
    "a heading ends a paragraph": "text\n# heading\ntext\n#no heading\nmore\n",
    "headings without blank lines": "# A\ntext a\n## B\ntext b\n## C\n- one\n- two\n## D\n```\ncode\n```\ntext\n",
    # -- code
    "a fence": "Before:\n\n```python\nfor i in range(3):\n    print(i)\n\n```\n\nAfter.\n",
    "a fence that stays open": "text\n```js\nconst a = 1;\n\nconst b = `x`;\n",
    "a fence with HTML in it": '```html\n<script>alert("1")</script>\n&amp; &lt;\n```\n',
    "fences of several lengths": "````\n```\ninner\n```\n````\n~~~\n```\n~~~~\nout\n",
    "a fence right behind a paragraph": "text\n```\ncode\n```\ntext\n~~~ x\ncode\n~~~\n",
    "a fence in a list": "1. step\n\n   ```sh\n   ls\n     -l\n   ```\n2. step\n   ```\n   open\n3. end\n",
    "a fence in a quote": "> ```\n> code\ntext outside\n\n> ~~~\n> code\n>\n> more\n",
    "odd languages": '```c++ title\na\n```\n```c#\nb\n```\n``` a"b\nc\n```\n```{.python}\nd\n```\n~~~ js`x\ne\n~~~\n',
    "code that looks like a definition": '```json\n[\n  "a"\n]\n```\ntext\n```json\n[a]: b\n```\n[a]\n',
    "indented code": "text\n\n    code\n      more\n\n\n    and more\n\ntext\n    lazy\n",
    "indented code behind a list": "- item\n\n      code in the item\n\n    text in the item\n\n<!-- -->\n\n    code\n",
    "inline code": "a `b` ``c`d`` `` ` `` `open\nand closed` then `never\n\n`next`\n",
    # -- lists
    "a tight list": "- one\n- two\n- three\n",
    "a list that turns loose": "- one\n- two\n\n- three\n",
    "a list that turns loose at its end": "1. one\n2. two\n3. three\n\n   more of three\n\nEnd.\n",
    "nested lists": "- a\n  - b\n    - c\n\n      text of c\n  - d\n- e\n   1. f\n   2. g\n",
    "lists of several marks": "- a\n+ b\n* c\n1. d\n2) e\n3) f\n",
    "ordered lists from n": "7. seven\n8. eight\n\ntext\n2. no list in a paragraph\n1. but this\n\n0. zero\n1234567890. no\n",
    "empty list items": "-\n- a\n-\n\n- b\n-\n\n  text\n\n1.\n2. x\n",
    "an empty item and text": "-\n\n  no item\n\n-\n  item\n",
    "lazy list lines": "- item\nlazy\n  not lazy\n    far in\n- next\n",
    "a list behind a paragraph": "Things:\n- one\n- two\nand lazy\n\nDone.\n",
    "two lists apart": "- a\n- b\n\n\n- c\n\n* d\n",
    "tasks": "- [ ] open\n- [x] done\n- [link](http://a.test/)\n\ntext\n",
    "a list then code then a list": "1. a\n\n    b\n\n 2. c\n\n  3. d\n\n   4. e\n",
    "deep lists": "".join("  " * depth + f"- level {depth}\n" for depth in range(12)) + "- back\n\nend\n",
    "dates and numbers": "2024. was a year\n\n-1 is negative\n- 1 is an item\n\n1.5 is no item\n",
    # -- quotes
    "a quote": "> one\n> two\n\n> three\n\ntext\n",
    "a lazy quote": "> one\nlazy\n> two\n\n> # heading\nnot lazy\n> again\n",
    "nested quotes": "> a\n>> b\n>>> c\n> d\n>\n> e\n>> f\n\ng\n",
    "a quote with everything": "> # H\n> - a\n> - b\n>\n> 1. c\n>    > d\n>\n>     code\n>\n> ---\n> end\n",
    "quotes in lists": "- > a\n  > b\n- c\n  > d\nlazy\n\n  > e\n1. > f\n>g\n",
    "a quote without text": ">\n\n> \n>\ntext\n",
    # -- tables
    "a table": "| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 |\n| 4 | 5 | 6 |\n\nAfter.\n",
    "a table without pipes around": "a | b\n-|-\n1 | 2\ntext row\n\ntext\n",
    "a table ends a paragraph": "text\n| a | b |\n|---|--:|\n| 1 | 2 |\n> quote\n",
    "no table in the end": "text\n| a | b |\n|---|---x\n| 1 | 2 |\n",
    "a table in a list": "- | a | b |\n  |---|---|\n  | 1 | **2** |\n- text\n  | a |\n  |---|\n",
    "a table in a quote": "> text\n> | a |\n> |---|\n> | 1 |\n| 2 |\n",
    "a lazy line that opens a table": "- item\n| a | b |\n  |---|---|\n  | 1 | 2 |\n",
    "escaped pipes": "| a \\| b | `c \\| d` |\n|---|---|\n| <b> | \\| |\n",
    "two tables": "|a|\n|-|\n|1|\n\n|b|\n|-|\n|2|\n# end\n",
    # -- emphasis and other spans
    "emphasis": "*a* **b** ***c*** _d_ __e__ *f**g*h** snake_case_name 2*3*4 ** no ** ~~gone~~ ~one~\n",
    "emphasis that closes late": "**open\nstill open\n\nnew paragraph** *a **b* c**\n",
    "escapes": "\\*a\\* \\# \\[b\\] \\\\ \\q \\<c\\>\n",
    "entities": "&amp; &lt;b&gt; &copy; &#35; &#x1F600; &nosuch; &#0; &amp;lt; &nbsp;.\n",
    # -- links, images and definitions
    "links": '[a](http://a.test/ "t") [b](<http://b.test/c d>) [c](mailto:x@y) <http://d.test/?q=1&r=2> <x@y>\n',
    "links in pieces": "[not yet](http://a.test\n\n[two\nlines](http://b.test/\n'title')\n",
    "links to elsewhere": "[a](./file.py) [b](#part) [c](//host/) [d](ftp://e) [e](javascript:f)\n",
    "links in links": "[a [b](http://c.test) d](http://e.test) [![f](http://g.test/h.png)](http://i.test)\n",
    "images": '![a](http://a.test/b.png "t") ![](http://c.test/d) ![e *f*](data:image/png;base64,AA) ![g][h]\n\n[h]: http://i.test/j\n',
    "a definition behind its links": "See [one] and [Two][two].\n\nMore [ONE][].\n\n[one]: http://one.test/ 'First'\n[two]: http://two.test/\n",
    "a definition before its links": (
        "[one]: <http://one.test/a b>\n[two]:\n   http://two.test/\n   'a\n   title'\n\n[one] and [two] and ![two].\n"
    ),
    "definitions twice": "[a] [b]\n\n[a]: http://first.test\n\ntext [a]\n\n[a]: http://second.test\n[b]: http://b.test\n",
    "definitions in containers": (
        "[q] [l] [n]\n\n> [q]: http://q.test\n\n- [l]: http://l.test\n- x\n\n> - > [n]: http://n.test\n\nend [n]\n"
    ),
    "a definition that ends badly": "[a]\n\n[a]: http://a.test 'title' rest\n\n[b]\n\n[b]: http://b.test\n'title' rest\n",
    "a definition with a long title": '[a]\n\n[a]: http://a.test\n"one\n===\ntwo\nthree\nfour"\n\n[a] end\n',
    "a title that never ends": '[a]\n\n[a]: http://a.test\n"one\n===\ntwo\nthree\n\nfour [a]\n',
    "a lazy title": '- [a]: http://a.test\n"one\ntwo\nthree\nfour"\n\n[a]\n\n> [b]: http://b.test\n(one\ntwo\nthree)\n\n[b]\n',
    "a label over headings": "[a\n===\nb\nc\nd]: http://a.test\n\n[a === b c d]\n",
    "a definition in a paragraph": "text\n[a]: http://a.test\n[a]\n",
    "footnotes": "A claim[^1] and another[^note].\n\n[^1]: The source.\n[^note]: http://note.test\n\nEnd[^1].\n",
    "brackets": "[] [ ] [[a]] [a][] [a](b [c] ![ ]( [d]: x\n\n[a]: http://a.test\n\n[[a]] [[b]][a]\n",
    "labels of other letters": (
        "[\u1e9e] [Straße] [ΑΓΩ] [a\n b]\n\n"
        "[SS]: http://s.test\n[STRASSE]: http://t.test\n[αγω]: http://u.test\n[A B]: http://v.test\n"
    ),
    # -- what is not markdown
    "raw HTML": (
        '<div class="a">\n*b*\n</div>\n\ntext <b onclick="x()">c</b> <!-- d --> <br/>\n\n<script>\n\nalert(1)\n</script>\n'
    ),
    "an HTML comment over blocks": "<!-- a\n\n- b\n\n--> c\n",
    "mathematics": "Inline $a_b * c_d$ and\n\n$$\n\\sum_{i=1}^n x_i < 3\n$$\n",
    "a trace": "File \"a.py\", line 3, in <module>\n    raise ValueError('[x]: *y*')\nValueError: [x]: *y*\n",
    # -- letters and line ends
    "emoji and other scripts": "# 你好 👩‍👩‍👧‍👦\n\n**日本語。**テスト *e\u0301* ﷽\n\n- 🇪🇺 one\n",
    "right to left": "שלום **עולם**\n\n- مرحبا `code` [رابط](http://a.test)\n\n| א | ב |\n|---|---|\n| ג | d |\n",
    "signs of direction": "left \u202eright\n\n> \u2067isolated\n\nplain \u2069 \u202c\n",
    "odd spaces": "a\u00a0b\n\u2003\n\u3000\n\u2028c\u2029d\x0be\x0cf\x85g\n",
    "signs that no page holds": "a\0b \ud800c \x1b[31mred\x07\n\n```\n\0\x1b\n```\n",
    "CRLF": "one\r\ntwo\r\n\r\n- a\r\n- b\r\n\r\n```\r\ncode\r\n```\r\n",
    "CR": "one\rtwo\r\r- a\r- b\r",
    "mixed line ends": "a\r\n\rb\n\r\nc\r\r\nd\n\n\r- e\r\n\n",
    "tabs": "-\ta\n\n\tb\n\n\t\tcode\n>\t\tcode\n1.\tc\n\t- d\n\n\tcode?\n",
    "no newline at the end of a fence": "```\na\n  ",
    "marks only": "-\n>\n#\n*\n1.\n+\n```\n~~~\n|\n=\n",
    # -- an answer
    "an answer": (
        "The p95 rose after Tuesday's deploy.\n\n"
        "## What I found\n\n"
        "1. **Checkout** calls `get_rates()` twice[^1].\n"
        "2. The cache is *cold*:\n\n   | key | hits |\n   |---|--:|\n   | eu | 3 |\n\n"
        "```python\nrates = cached(get_rates)\n```\n\n"
        "> It was fine on Monday.\n\nSee the [runbook] and <http://a.test/x>.\n\n"
        '[runbook]: http://b.test/run?book=1 "Runbook"\n[^1]: seen in the trace\n'
    ),
}
