// Numbers: the same rule as ui/theme.py, held to the same table.

/**
 * @param {number} x
 * @param {number} decimals
 */
export function formatNumber(x, decimals) {
  const v = Math.fround(x), a = Math.abs(v), sign = v < 0 ? "−" : "";
  if (Number.isNaN(v)) return "NaN";
  if (a === Infinity) return sign + "∞";
  if (a >= 1e4) return sign + a.toExponential(2).replace("e+", "e");
  if (Number.isInteger(a)) return a ? sign + a : "0";
  const text = a.toFixed(decimals); // exact, ties up; a carries no sign
  return Number(text) ? sign + text : "≈0";
}

/** @param {number} x */
export function fullValue(x) {
  const v = Math.fround(x);
  if (!Number.isFinite(v)) return formatNumber(v, 0);
  for (let p = 1; p < 10; p++) {
    const short = Number(v.toPrecision(p));
    if (Math.fround(short) === v) return short ? String(short).replace("e+", "e") : "0";
  }
}

/**
 * What the learner typed as a float32, or null. No comma, no words, no overflow.
 * @param {string} text
 */
export function parseNumber(text) {
  const t = text.trim().replace("−", "-");
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(t)) return null;
  const v = Math.fround(Number(t));
  return Number.isFinite(v) ? Number(fullValue(v)) : null;
}

// A full value for a reader: its sign is the minus of the cells. Labels and files keep the hyphen, to be parsed.
export const readable = (text) => text.replace(/^-/, "−");

export const printed = (text) => text === "≈0" ? 0 : Number(text.replace("−", "-").replace("∞", "Infinity"));

export const inBrackets = (text) => text[0] === "−" ? `(${text})` : text;

/** @param {number} n */
export function cells(n) {
  return Array.from({ length: n }, (_, k) => k);
}
