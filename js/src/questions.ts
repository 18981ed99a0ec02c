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
    const forms = [...this.element.children] as HTMLFormElement[];
    for (const form of forms) if (!questions.some((one) => one.id === form.name)) form.remove();
    for (const question of questions) if (!forms.some((one) => one.name === question.id)) this.#ask(question);
  }

  #ask({ id, text, choices, words }: Question): void {
    const field = make("input", "");
    const box = make("fieldset", "", make("legend", "", text));
    const form = make("form", "", box);
    const answer = (choice: number | null, text = "") => {
      box.disabled = true;
      this.#store.send({ type: "answer", question: id, choice, text });
      this.#answered();
    };
    choices.forEach((choice, place) => {
      const element = button("", choice);
      element.onclick = () => answer(place);
      box.append(element);
    });
    field.required = true;
    field.ariaLabel = field.placeholder = "Answer in words";
    if (words) box.append(field, make("button", "", "Send"));
    form.onsubmit = (event) => {
      event.preventDefault();
      answer(null, field.value);
    };
    form.name = id;
    this.element.append(form);
  }
}
