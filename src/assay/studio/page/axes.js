/**
 * The axes of a plane: faint lines within, numbers or categories and the columns' names at the edge.
 *
 * @import {Axes, Axis} from "./types.js"
 * @import {Scale} from "./scale.js"
 */
import { css, inks, paper } from "./colours.js";
import { short, ticks } from "./scale.js";

/**
 * Ticks of an axis: round numbers, or the levels of a category.
 *
 * @param {Axis} axis
 * @param {[number, number]} ends
 * @param {number} wanted
 */
function marks(axis, [low, high], wanted) {
  if (axis.levels)
    return axis.levels
      .map((level, i) => ({ value: i, text: String(level) }))
      .filter(({ value }) => value >= low && value <= high);
  return ticks(low, high, Math.max(3, wanted)).map((value) => ({ value, text: short(value) }));
}

/** @param {Scale} scale @param {Axes} axes */
function bothMarks(scale, axes) {
  return { across: marks(axes.x, scale.view.x, scale.box.width / 56), up: marks(axes.y, scale.view.y, scale.box.height / 46) };
}

/** @param {CanvasRenderingContext2D} context @param {Scale} scale @param {Axes} axes */
export function drawGrid(context, scale, axes) {
  const { left, top, width, height } = scale.box;
  const { across, up } = bothMarks(scale, axes);
  context.save();
  context.lineWidth = 1;
  context.strokeStyle = inks().soft;
  context.globalAlpha = 0.16;
  context.beginPath();
  for (const { value } of across) {
    const x = Math.round(scale.x(value)) + 0.5;
    context.moveTo(x, top);
    context.lineTo(x, top + height);
  }
  for (const { value } of up) {
    const y = Math.round(scale.y(value)) + 0.5;
    context.moveTo(left, y);
    context.lineTo(left + width, y);
  }
  context.stroke();
  context.restore();
}

/** @param {CanvasRenderingContext2D} context @param {Scale} scale @param {Axes} axes */
export function drawAxes(context, scale, axes) {
  const { left, top, width, height } = scale.box;
  const { across, up } = bothMarks(scale, axes);
  const ink = inks();
  context.save();
  context.lineWidth = 1;
  context.strokeStyle = ink.soft;
  context.globalAlpha = 0.6;
  context.strokeRect(left - 0.5, top - 0.5, width + 1, height + 1);
  context.globalAlpha = 1;
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = ink.soft;
  context.textAlign = "center";
  for (const { value, text } of across)
    context.fillText(text, scale.x(value), top + height + 14, width / Math.max(1, across.length));
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const { value, text } of up) context.fillText(text, left - 6, scale.y(value), left - 8);
  context.textBaseline = "alphabetic";
  context.font = "600 11.5px system-ui, sans-serif";
  context.fillStyle = ink.ink;
  context.fillText(axes.x.label, left + width, top + height + 28, width);
  context.textAlign = "left";
  context.lineWidth = 3.5;
  context.strokeStyle = css(paper(), 0.85);
  context.strokeText(axes.y.label, left + 6, top + 16, width - 12);
  context.fillText(axes.y.label, left + 6, top + 16, width - 12);
  context.restore();
}
