// Points at every cell of the equations on standard input, each as Python would send it, and writes what that lights and
// what the dock says: [[id, row, column, the line, the cells lit], …] for each.

import { arithmetic } from "../../ui/equation/js/arithmetic.js";
import { related } from "../../ui/equation/js/related.js";
import { state } from "./made.js";

/** @param {import("../../ui/equation/js/types.d.ts").Data} sent */
function pointedAt(sent) {
  const { s } = state(sent);
  return s.order.flatMap((f) =>
    [...f.v].map((_, k) => {
      const i = f.r0 + Math.floor(k / f.nc), j = f.c0 + k % f.nc, { backwards, found } = related(s, f, i, j);
      const lit = found.map(([g, r, c]) => [g.id, r, c]), { main, notes } = arithmetic(s, f, i, j);
      return { at: [f.id, i, j], main: main.replaceAll("⁀", " "), notes, backwards, lit };
    })
  );
}

const all = JSON.parse(await new Response(Deno.stdin.readable).text());
console.log(JSON.stringify(all.map(pointedAt)));
