// All of the component that travels with its data: the program that draws is sent once for a page (equation.js).

const program = globalThis.equationProgram ??= { waiting: [] };
export default function (mounted) {
  if (program.draw) return program.draw(mounted);
  return new Promise((done) => program.waiting.push(() => done(program.draw(mounted))));
}
