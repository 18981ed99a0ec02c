// What the run asks the reader: a button for each choice, and a field for an answer in words.

import { button, make } from "./dom";
import type { Store } from "./store";
import type { Question } from "./wire";

export class Questions {
  readonly element = make("div", "ac-asks");
  #store: Store;
  #answered: () => void;

  /** `answered` is called after an answer, which takes the focus from where it was. */
  constructor(store: Store, answered: () => void) {
    this.#store = store;
    this.#answered = answered;
  }

  /** Shows `questions`; one that is there already stays as it is, with what has been typed. */
  update(questions: readonly Question[]): void {
    const boxes = [...this.element.children] as HTMLFieldSetElement[];
    for (const box of boxes) if (!questions.some((one) => one.id === box.name)) box.remove();
    for (const question of questions) if (!boxes.some((box) => box.name === question.id)) this.#ask(question);
  }

  #ask({ id, text, choices, words }: Question): void {
    const box = make("fieldset", "", make("legend", "", text));
    const add = (label: string, answer: (event: Event) => void) => {
      const element = button("", label);
      element.onclick = answer;
      box.append(element);
    };
    const answer = (choice: number | null, text = "") => {
      box.disabled = true;
      this.#store.send({ type: "answer", question: id, choice, text });
      this.#answered();
    };
    box.name = id;
    for (const [place, choice] of choices.entries()) add(choice, () => answer(place));
    if (words) {
      const field = make("input", "");
      const send = (event: Event) => {
        if (!field.value) return;
        event.preventDefault(); // or Enter would press what has the focus from now on
        answer(null, field.value);
      };
      field.ariaLabel = field.placeholder = "Answer in words";
      // No form: JupyterLab keeps Enter from sending one.
      field.onkeydown = (event) => {
        if (event.key === "Enter" && !event.isComposing) send(event);
      };
      box.append(field);
      add("Send", send);
    }
    this.element.append(box);
  }
}
