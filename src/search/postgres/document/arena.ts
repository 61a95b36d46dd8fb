/**
 * Memory for the encoded documents of one batch, released as a whole: thousands of small buffers a second would keep the garbage
 * collector busy and the process large.
 */
export class Arena {
  readonly #chunks: Buffer[] = []
  #chunk = 0
  #at = 0

  /** Allows everything that was handed out to be overwritten. */
  reset(): void {
    this.#chunk = 0
    this.#at = 0
    // Shrinks after a batch of unusually large objects.
    if (this.#chunks.length > mostKept) this.#chunks.length = mostKept
  }

  /** A copy of the bytes. */
  keep(bytes: Buffer): Buffer {
    const place = this.take(bytes.length)
    place.set(bytes)
    return place
  }

  take(length: number): Buffer {
    if (length > chunkSize / 4) return Buffer.allocUnsafeSlow(length)
    if (this.#at + length > chunkSize) {
      this.#chunk++
      this.#at = 0
    }
    this.#chunks[this.#chunk] ??= Buffer.allocUnsafeSlow(chunkSize)
    const start = this.#at
    this.#at += length
    return (this.#chunks[this.#chunk] as Buffer).subarray(start, start + length)
  }
}

const chunkSize = 1 << 20
const mostKept = 8
