// How long and how many: the numbers that somebody chose.

/** Milliseconds between two ticks of the clocks, and between two looks at the kernel. */
export const TICK = 250;
export const CHECK = 1000;
/** Milliseconds without a word, while the clock runs, that lose the kernel; Python says something every 5 s. */
export const SILENCE = 20_000;
/** Milliseconds until what was missed is asked for again; they double up to the last. */
export const FIRST_RETRY = 2000;
export const LAST_RETRY = 30_000;

/** No more running rows than this are kept in sight at once. */
export const RUNNING_SHOWN = 12;
/** Rows in one group; a full group that is out of sight costs no layout. */
export const GROUP = 100;
/** So long, in milliseconds, the page may stand still while thousands of rows are made; the rest comes after the next frame. */
export const FIRST_SLICE = 100;
export const SLICE = 40;
/** So close to the end, in pixels, counts as at the end. */
export const NEAR = 16;

/** No more rows, and no more characters of bodies, are kept of a run than Python would leave in the notebook. */
export const KEPT_ROWS = 500;
export const KEPT_BODIES = 120_000;
