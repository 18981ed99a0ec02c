// The seconds thought so far, counted from an anchor, so that a late or missed tick never makes them wrong.

/** Milliseconds on a scale that only goes forward. */
export const now = (): number => performance.now();

export class Clock {
  running = false;
  #elapsed = 0;
  #anchor = 0; // on performance.now()'s scale, in milliseconds
  #shown = 0;

  /** Python says: so many seconds by now, and whether they go on. */
  set(elapsed: number, running: boolean): void {
    this.#elapsed = elapsed;
    this.#anchor = now() - elapsed * 1000;
    this.running = running;
  }

  /** Seconds now. While it runs they never go back, also when a message was late and Python counts less. */
  read(): number {
    if (!this.running) return this.#elapsed;
    this.#shown = Math.max(this.#shown, (now() - this.#anchor) / 1000);
    return this.#shown;
  }
}
