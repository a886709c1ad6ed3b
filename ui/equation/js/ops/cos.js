// The cosine of a position's angle.

import { ofAngle } from "../operation.js";
/** @import { Operation } from "../types.d.ts" */

/** @type {Operation} */
export const cos = ofAngle("cos", Math.cos);
