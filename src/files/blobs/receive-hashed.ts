import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { isTransferredStream, transfer } from '../../platform/memory/buffer-ownership.ts'
import type { BlobStore, Received, Sha256 } from './blob-store.ts'

/** Stores a content under a temporary name, and computes its hash on the way. @throws the reason of the signal when it is aborted. */
export async function receiveHashed(
  store: Pick<BlobStore, 'receive'>,
  source: AsyncIterable<Buffer>,
  signal?: AbortSignal,
): Promise<{ readonly received: Received; readonly sha256: Sha256 }> {
  const hash = createHash('sha256')
  const isOwn = source instanceof Readable && isTransferredStream(source)
  async function* hashed(): AsyncGenerator<Buffer> {
    for await (const piece of source) {
      signal?.throwIfAborted()
      hash.update(piece)
      yield isOwn ? transfer(piece) : piece
    }
  }
  const received = await store.receive(hashed())
  return { received, sha256: hash.digest('hex') }
}
