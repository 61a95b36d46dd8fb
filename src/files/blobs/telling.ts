import { AppError } from '../../platform/errors.ts'
import type { BlobStore } from './blob-store.ts'

/** Maps storage errors to `ServiceUnavailable`, after which a client may try again. Errors of the sent data stay as they are. */
export function createTellingStore(store: BlobStore): BlobStore {
  return {
    ...store,
    async receive(source) {
      let broken: { readonly error: unknown } | null = null
      async function* sent(): AsyncGenerator<Buffer> {
        try {
          yield* source
        } catch (error) {
          broken = { error }
          throw error
        }
      }
      try {
        const received = await store.receive(sent())
        return { ...received, keep: (sha256) => received.keep(sha256).catch(tell) }
      } catch (error) {
        // An error in the sent data is not the store's fault.
        const sender = broken as { readonly error: unknown } | null
        if (sender) throw sender.error
        return tell(error)
      }
    },
  }
}

function tell(cause: unknown): never {
  const message = isFull(cause) ? 'The disk for files is full.' : 'Files cannot be stored now.'
  throw new AppError('ServiceUnavailable', {}, { message, cause })
}

function isFull(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG'
}
