/**
 * What is claimed of a fitted model, each claim with a badge that differs in shape and word, not in colour alone.
 *
 * @import {Claim} from "./types.js"
 */
import { el, icon } from "./dom.js";

const BADGES = {
  proof: { picture: "proof", word: "proof" },
  estimate: { picture: "estimate", word: "estimate" },
  warning: { picture: "warning", word: "warning" },
};

/** @param {Claim[]} claims @param {boolean} open whether there is room to read all; what warns is always open */
export function certificateList(claims, open) {
  const list = el("ul", { class: "certificate", "data-role": "certificate" });
  if (!claims.length) list.append(el("li", { class: "claim" }, "no claims: nothing is proved of this fit"));
  for (const claim of claims) {
    const { picture, word } = BADGES[claim.status] ?? BADGES.warning;
    const failed = claim.holds === false;
    const badge = el("span", { class: "badge" }, icon(failed ? "failed" : picture), failed ? "does not hold" : word);
    list.append(
      el(
        "li",
        { class: `claim claim-${failed ? "failed" : claim.status}`, "data-status": claim.status },
        el(
          "details",
          { open: open || failed || claim.status === "warning" },
          el("summary", {}, badge, el("span", {}, claim.name)),
          el("p", {}, claim.text),
        ),
      ),
    );
  }
  return list;
}
