import type { Sha256 } from '../blobs/blob-store.ts'

export type RenditionStatus = 'pending' | 'processing' | 'done' | 'failed' | 'not_produced' | 'too_small' | 'unmarked'

/** How far one of the renditions of a file is. */
export interface Rendition {
  readonly name: string
  readonly status: RenditionStatus
  readonly reason: string | null
  readonly statusAt: Date
  /** How much of it is made, while it is being made. */
  readonly percent: number
  readonly recipeHash: string | null
  readonly madeOf: Sha256 | null
}
