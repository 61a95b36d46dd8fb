/** Finished HTML. Whoever makes one by itself vouches for it (`.dependency-cruiser.mjs` has who may): all others use `html`. */
export class Html {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}
