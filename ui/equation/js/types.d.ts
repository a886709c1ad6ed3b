// What passes between the parts of the equation: what Python sends, and the state of one mounted equation.

/** One direction of a frame as Python sends it (ui/equation/frames.py). */
export interface Axis {
  axis: string;
  letter: string;
  word: string;
  labels: string[];
  offset: number;
  size: number;
  total: number;
  full: number;
  places: number[] | null;
  index: string;
  band: number;
}

/** A run of places on axes that go together; [start, start + count) of it is on screen, [lo, hi) was sent. */
export interface Group {
  key: string;
  lo: number;
  hi: number;
  total: number;
  axis: string;
  start: number;
  count: number;
  cols: boolean;
  inner: boolean;
  most: number;
}

/** A matrix: the values sent (nr × nc from row r0, column c0) and how they are drawn. */
export interface Frame {
  id: string;
  name: string;
  label: string;
  slice: string;
  role: string;
  sign: string;
  transposed: boolean;
  rows: Axis;
  cols: Axis;
  editable: boolean;
  range: [number, number];
  row_sums: boolean;
  cut: boolean;
  compact: boolean;
  whole: boolean;
  vector: boolean;
  most_cols: number;
  stack: { axis: string; count: number; inner: string; letters: string[]; indices: string[] } | null;
  row_notes: string[];
  fresh: [number, string] | null;
  filled: number | null;
  v: Float32Array;
  nr: number;
  nc: number;
  r0: number;
  c0: number;
  /** Where the columns of a head's block begin in the whole parameter. */
  cs: number;
  mark: Uint8Array;
  rg: Group;
  cg: Group;
}

/** A rule as Python sends it (ui/equation/ops); which parts there are depends on the operation. */
export interface Rule {
  op: string;
  out: string;
  in?: string;
  left?: string;
  right?: string;
  bias?: string;
  cos?: string;
  sin?: string;
  /** base64 as sent, numbers once decoded. */
  before?: string | Float32Array;
  after?: string | Float32Array;
  divisor?: number;
  note?: string;
  positions?: number[];
  theta?: number[];
  first?: number[];
  second?: number[];
  swapped?: [number, number, number] | null;
  rows?: number;
  group?: number;
}

/** Takes what an operation reads or makes: single cells, whole rows, whole columns. */
export interface Sink {
  cell(f: Frame, i: number, j: number): void;
  row(f: Frame, i: number): void;
  column(f: Frame, j: number): void;
}

/** A step in digits, and what a reader gets from the printed numbers (NaN: not to be compared). */
export interface Step {
  text?: string;
  hand?: number;
  note?: string;
  missing?: boolean;
}

/** Everything that one operation is, in the browser. Places count from 0 over the whole axis. */
export interface Operation {
  /** The frames that a rule reads. */
  reads(rule: Rule): string[];
  /** What (i, j) of the result was made from. */
  sources(s: State, rule: Rule, i: number, j: number, to: Sink): void;
  /** What is made from (i, j) of the operand f. */
  uses(s: State, rule: Rule, f: Frame, i: number, j: number, to: Sink): void;
  /** Joins the axes that share a window, named as "id/r" and "id/c". */
  axes(s: State, rule: Rule, join: (a: string, b: string) => void): void;
  /** The arithmetic of (i, j) of the result. */
  step(s: State, rule: Rule, i: number, j: number): Step;
  /** The use of (i, j) of the operand f in words. */
  used(s: State, rule: Rule, f: Frame, i: number, j: number): string;
  /** The operand whose own steps are written before this one. */
  continues?(rule: Rule): string;
  /** Its result ends a calculation: no later step writes it out again. */
  complete?: boolean;
  /** Its result is made from numbers that stand in no frame. */
  given?: boolean;
  /** Its cells go to places whose windows do not run together. */
  scatters?: boolean;
  /** It turns pairs of columns, which clock hands show. */
  turns?: boolean;
  /** The string for an operand that nothing was made from. */
  unused?: string;
  /** The axis that is summed over. */
  summed?(rule: Rule): string;
  /** Says of its operands where a block of a wide parameter begins. */
  shift?(s: State, rule: Rule): void;
  /** The rule with what came as base64 read. */
  decode?(rule: Rule): Rule;
  /** A place to be in view with (i, j) of the result. */
  along?(s: State, rule: Rule, i: number, j: number): [Frame, number, number];
  /** A place to be in view when (i, j) of the result is stepped to. */
  follow?(s: State, rule: Rule, i: number, j: number): [Frame, number, number];
  /** The rows of an operand that stay marked. */
  marked?(s: State, rule: Rule): { id: string; isRead(i: number): boolean } | null;
}

export type Related = { backwards: boolean; found: [Frame, number, number][] };
export type Box = [number, number, number, number];

/** A place pointed at; `pair` says that it was the hand of a pair. */
export interface Place {
  id: string;
  i: number;
  j: number;
  pair?: number;
}
export interface Pin {
  id: string;
  row: number;
  col: number;
}
/** A head of the picture above the frames. */
export interface Head {
  q?: number;
  kv?: number;
}

/** A frame before its values are read. */
export type SentFrame = Frame & { values: string; hidden: [number, number][] };

/** A choice among codes, each with its label; with the codes "true" and "false" it is a toggle. */
export interface SwitchData {
  key: string;
  label: string;
  options: [string, string][];
  value: string;
  titled: boolean;
}

/** The equation with other codes. A frame that is the one of the equation as sent is named by its id. */
export interface Variant {
  codes: Record<string, string>;
  without: string[];
  frames: (string | SentFrame)[];
  rules: Rule[];
  pin: Pin | null;
  edits: Record<string, Record<string, number>>;
  wiring: { reads: number[]; notes: string[] } | null;
}

/** A switch that was thrown and that Python has not acknowledged. */
export interface Flip {
  seq: number;
  key: string;
  code: string;
}

/** What Python sends (ui/equation/__init__.py). `without` are the switches that have no meaning in this variant. */
export interface Data {
  switches: SwitchData[];
  variants: Variant[];
  without: string[];
  flipped: number;
  rev: number;
  since: number;
  seq: number;
  frames: SentFrame[];
  rules: Rule[];
  decimals: number;
  pin: Pin | null;
  edits: Record<string, Record<string, number>>;
  hidden_note: string;
  wiring: { reads: number[]; notes: string[] } | null;
  strings: Record<string, string>;
}

/** A change that Python has not acknowledged: a number put in a cell, or (null) taken back. */
export interface Change {
  seq: number;
  rev: number;
  name: string;
  cell: string;
  value: number | null;
}

export type CellElement = HTMLElement & { at: { id: string; r: number; c: number }; key: string; glow: string };
export type LabelElement = HTMLElement & { middle: number };
export interface Ruler {
  box: HTMLElement;
  sent: HTMLElement;
  seen: HTMLElement;
  side: "r" | "c";
}
/** The two buttons that move a window, and what it shows. */
export interface PanUi {
  box: HTMLElement;
  earlier: HTMLButtonElement;
  later: HTMLButtonElement;
  text: HTMLElement;
}
/** The elements of a frame; of a map the cells are those round the focused one, from (i0, j0) on. */
export interface FrameUi {
  term: HTMLElement;
  sign: HTMLElement;
  frame: HTMLElement;
  above: HTMLElement;
  symbol: HTMLElement;
  slice: HTMLElement;
  form: HTMLElement;
  words: HTMLElement;
  heads: HTMLElement;
  labels: HTMLElement;
  grid: HTMLElement;
  sums: HTMLElement;
  below: HTMLElement;
  scale: HTMLElement;
  note: HTMLElement;
  rulers: Ruler[];
  pans: PanUi[];
  cells: CellElement[][];
  shape?: string;
  i0?: number;
  j0?: number;
  /** Of a map: its two canvases, one pixel for each cell, the size of a cell on screen, what is hatched and lit. */
  base?: HTMLCanvasElement;
  glow?: HTMLCanvasElement;
  plain?: HTMLCanvasElement;
  w?: number;
  h?: number;
  ends?: number[][];
  shut?: Box[];
  drawn?: Box[];
}
export interface Tick {
  id: string;
  limit: number;
  i: number;
  j: number;
  stop: boolean;
  wait: number;
  done: string;
}
export interface Dial {
  node: HTMLElement;
  svg: SVGElement;
}

/** A cell that is being typed into, and the revision that was on screen when that began. */
export interface Editor {
  cell: CellElement;
  input: HTMLInputElement;
  u: FrameUi;
  id: string;
  i: number;
  j: number;
  rev: number;
}
/** A frame held by the pointer: where it was taken, and the size of its cells. */
export interface Grip {
  id: string;
  x: number;
  y: number;
  row: number;
  col: number;
  w: number;
  h: number;
}

/** What the screen gives, in pixels: `rem` of type, the `height` left beside what else the equation draws, the `full` one. */
export interface Screen {
  rem: number;
  height: number;
  full: number;
}

/** One mounted equation. What is drawn later than a module stands in `redraw`, `refit` and `point`. */
export interface State {
  root: HTMLElement;
  parent: Mounted["parentElement"];
  /** Calls that have not ended, the one on screen last. */
  calls: Mounted[];
  /** What Python sent; the same with the switches thrown that it does not know of; and what follows from it. */
  sent: Data;
  flips: Flip[];
  data: Data;
  order: Frame[];
  frames: Record<string, Frame>;
  maker: Record<string, Rule>;
  users: Record<string, Rule[]>;
  groups: Record<string, Group>;
  longest: Record<string, number[]>;
  /** Typed numbers: those of Python with what it has not acknowledged put on top. */
  edits: Record<string, Record<string, number>>;
  pending: Change[];
  seq: number;
  editor: Editor | null;
  alert: string;
  /** What is pointed at, pinned, stepped to. */
  hover: Place | null;
  focus: Place | null;
  head: Head | null;
  pin: Pin | null;
  sentPins: { key: string; time: number }[];
  lastPin: string;
  tick: number | null;
  ticks: Tick[];
  ranks: Record<string, (i: number, j: number) => number>;
  playTimer: ReturnType<typeof setTimeout> | null;
  /** What is on screen. */
  width: number;
  height: number;
  ch: number;
  fit: { px: number; d: number; stack: boolean; roomy: boolean; cell?: number };
  seek: boolean;
  wantsDigits: boolean;
  windows: Record<string, number>;
  wanted: { key: string; start: number; focus?: Place } | null;
  drag: Grip | null;
  dragged: boolean;
  pressed: Place | null;
  rolled: number;
  /** Elements. */
  switches: HTMLElement;
  ui: Record<string, FrameUi>;
  lit: CellElement[];
  wires: HTMLElement;
  wiring: { q: HTMLElement[]; kv: HTMLElement[]; lines: SVGElement[] };
  eq: HTMLElement;
  fits: HTMLElement;
  dock: {
    box: HTMLElement;
    high: number;
    alert: HTMLElement;
    main: HTMLElement;
    notes: HTMLElement;
    unpin: HTMLElement;
    revert: HTMLElement;
  };
  dials: { box: HTMLElement; row: HTMLElement; title: HTMLElement; list: Dial[] } | null;
  dialRow: number;
  controls:
    & Record<"steps" | "files", HTMLElement>
    & Record<"back" | "play" | "next" | "skip" | "view" | "svg", HTMLButtonElement>;
  observer: ResizeObserver;
  onEscape(event: KeyboardEvent): void;
  onFonts(): void;
  onHeight(): void;
  /** To Python, and to the modules above. */
  send(name: string, value: unknown): void;
  redraw(): void;
  refit(): void;
  point(): void;
  show(): void;
}

/** What Streamlit gives a component. */
export interface Mounted {
  data: [Data];
  parentElement: HTMLElement & { host?: HTMLElement; activeElement?: Element };
  setStateValue(name: string, value: unknown): void;
}
