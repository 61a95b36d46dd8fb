import type { BlobStore, Received } from '../blobs/blob-store.ts'
import { receiveHashed } from '../blobs/receive-hashed.ts'
import { contentOf, type Fixity, type Verifiable, verify } from '../fixity/verify.ts'

/** A content being copied: the result of its check, and the received copy, under a temporary name. */
export interface Copied {
  readonly blob: Verifiable
  readonly fixity: Fixity
  readonly received: Received | null
}

/** Contents that are copied at the same time. */
const atOnce = 4

/** Copies contents to temporary names. @throws when a place cannot be read or written; then nothing stays. */
export async function copyAll(
  from: Pick<BlobStore, 'read'>,
  to: Pick<BlobStore, 'receive'>,
  blobs: readonly Verifiable[],
  signal: AbortSignal,
): Promise<Copied[]> {
  const copied: Copied[] = []
  const waiting = blobs.values()
  let failure: { readonly error: unknown } | null = null
  async function work(): Promise<void> {
    for (const blob of waiting) {
      if (failure) return
      try {
        copied.push(await copy(from, to, blob, signal))
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const failed = failure as { readonly error: unknown } | null
  if (!failed) return copied
  await discardAll(copied)
  throw failed.error
}

export async function discardAll(copied: readonly Copied[]): Promise<void> {
  await Promise.all(copied.map(({ received }) => received?.discard().catch(() => {})))
}

async function copy(
  from: Pick<BlobStore, 'read'>,
  to: Pick<BlobStore, 'receive'>,
  blob: Verifiable,
  signal: AbortSignal,
): Promise<Copied> {
  const source = await contentOf(from, blob.sha256)
  if (!source) return { blob, fixity: 'missing', received: null }
  // A store that reads nothing does not end the stream; the stream would keep its source open.
  const { received, sha256 } = await receiveHashed(to, source, signal).finally(() => source.destroy())
  if (received.size === blob.size && sha256 === blob.sha256) return { blob, fixity: 'ok', received }
  await received.discard()
  // A transfer that broke off is another matter than a damaged content.
  const fixity = await verify(from, blob)
  if (fixity === 'ok') throw new Error(`${received.size} of ${blob.size} bytes of ${blob.sha256} arrived`)
  return { blob, fixity, received: null }
}
