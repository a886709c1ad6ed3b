// Axes that run together (rows of Q with rows of QKᵀ, columns of Q with rows of Kᵀ) share one window.

import { operationOf } from "./operations.js";
/** @import { Axis, State } from "./types.d.ts" */

/** @param {State} s */
export function groupAxes(s) {
  const parent = {}, find = (k) => (parent[k] ??= k) === k ? k : (parent[k] = find(parent[k]));
  const join = (a, b) => {
    parent[find(a)] = find(b);
  };
  for (const rule of s.data.rules) operationOf(rule).axes(s, rule, join);
  for (const rule of s.data.rules) operationOf(rule).shift?.(s, rule);
  const summed = new Set(s.data.rules.map((rule) => operationOf(rule).summed?.(rule)).filter(Boolean).map(find));
  const old = s.groups ?? {};
  s.groups = {};
  for (const f of s.order) {
    /** @type {["r" | "c", number, number, Axis][]} */
    const sides = [["r", f.r0, f.nr, f.rows], ["c", f.c0 - f.cs, f.nc, f.cols]];
    for (const [side, lo, n, axis] of sides) {
      const key = find(f.id + "/" + side);
      const g = s.groups[key] ??= {
        key,
        lo,
        hi: lo + n,
        total: axis.total,
        axis: axis.axis,
        start: old[key]?.start ?? lo,
        count: old[key]?.count ?? 0,
        cols: false,
        inner: summed.has(key),
        most: Infinity,
      };
      g.lo = Math.min(g.lo, lo);
      g.hi = Math.max(g.hi, lo + n);
      g.cols ||= side === "c";
      if (side === "c" && f.most_cols) {
        g.most = Math.min(g.most, f.most_cols);
      }
      if (axis.total <= g.total) {
        g.total = axis.total;
        g.axis = axis.axis;
      } // a block's own columns, not all heads'
      f[side === "r" ? "rg" : "cg"] = g;
    }
  }
}
