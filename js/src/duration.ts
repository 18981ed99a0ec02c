// Seconds as people say them, `9s`, `1m 5s`, `1h 2m`: the same words as `text/duration.py`.

/** A running clock: whole seconds, never rounded up. */
export function clockText(seconds: number): string {
  const whole = Math.max(0, Math.trunc(seconds)) || 0;
  if (whole < 60) return `${whole}s`;
  const minutes = Math.trunc(whole / 60);
  return minutes < 60 ? `${minutes}m ${whole % 60}s` : `${Math.trunc(minutes / 60)}h ${minutes % 60}m`;
}

/** The time behind a row: tenths below ten seconds, then as the clock shows it; "" for next to none. */
export function shortDurationText(seconds: number): string {
  if (!(seconds >= 0.05)) return "";
  if (seconds >= 9.95) return clockText(seconds);
  // Python rounds a tie to the even digit and JavaScript up. .25 and .75 are the only ties, and only .25 differs.
  return `${(seconds % 1 === 0.25 ? seconds - 0.01 : seconds).toFixed(1)}s`;
}
