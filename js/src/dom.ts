// Making elements, and touching them only when something is different.

export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className: string,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

export function button(className: string, ...children: (Node | string)[]): HTMLButtonElement {
  const element = make("button", className, ...children);
  element.type = "button";
  return element;
}

/** Says to those who cannot see it whether what a button opens is open. */
export function expand(element: Element | undefined, open: boolean): void {
  element?.setAttribute("aria-expanded", `${open}`);
}

/** An element for text that changes. */
export function words(className: string): HTMLElement {
  return make("span", className, "");
}

/** Sets the text of what `words` made. */
export function setText(element: Element, text: string): void {
  const node = element.firstChild as Text;
  if (node.data !== text) node.data = text;
}

/** Sets the text of what `words` made, with what stands between backticks as code. */
export function setWords(element: Element, text: string): void {
  if (text.includes("`") || element.childElementCount) element.replaceChildren(...codeMarked(text));
  else setText(element, text);
}

/** Plain text as nodes, with what stands between backticks as code. */
export function codeMarked(text: string): (Node | string)[] {
  return text.split(/`([^`]+)`/).map((part, place) => (place % 2 ? make("code", "", part) : part));
}
