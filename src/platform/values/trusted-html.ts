/**
 * Finished HTML. The caller of the constructor vouches for it (`.dependency-cruiser.mjs` lists the callers): all others use `html`.
 */
export class Html {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}
