import type { Sha256 } from '../blobs/blob-store.ts'

export type RenditionStatus = 'pending' | 'processing' | 'done' | 'failed' | 'not_produced' | 'too_small' | 'unmarked'

/** The progress of a rendition of a file. */
export interface Rendition {
  readonly name: string
  readonly status: RenditionStatus
  readonly reason: string | null
  readonly statusAt: Date
  /** The finished part, while it is being made. */
  readonly percent: number
  readonly recipeHash: string | null
  readonly madeOf: Sha256 | null
}
