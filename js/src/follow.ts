// A list that scrolls along with its newest row, as long as the reader is at its end.

import { NEAR } from "./limits";

export class Follow {
  #list: HTMLElement;
  #atEnd = true;

  constructor(list: HTMLElement) {
    this.#list = list;
    list.onscroll = () => this.#look();
  }

  /** Holds still while the reader opens or closes something, and then sees where that left the reader. */
  pause(act: () => void): void {
    this.#atEnd = false;
    act();
    this.#look();
  }

  /** The list starts over, at its end or at its beginning. */
  start(atEnd: boolean): void {
    this.#atEnd = atEnd;
    this.#list.scrollTop = 0;
  }

  /** The list grew. */
  keep(): void {
    if (this.#atEnd) this.#list.scrollTop = this.#list.scrollHeight;
  }

  #look(): void {
    const { scrollHeight, scrollTop, clientHeight } = this.#list;
    this.#atEnd = scrollHeight - scrollTop - clientHeight < NEAR;
  }
}
