import { createHash } from 'node:crypto'
import type { BlobStore, Received, Sha256 } from '../blobs/blob-store.ts'
import { cleanFileName } from '../records/file-name.ts'
import { type FileType, fileTypeOf, headBytes, typeByName } from '../records/file-type.ts'
import type { Incoming } from './multipart.ts'
import { tooLarge, type UploadPermission } from './permission.ts'

/** A file whose content has arrived and is stored under a temporary name. */
export interface ReceivedFile {
  readonly name: string
  readonly type: FileType
  readonly sha256: Sha256
  readonly received: Received
}

/**
 * Receives one file completely: only its beginning is kept in memory. A file that declares a size above the limit is
 * refused unread. @throws {AppError} when it is refused.
 */
export async function receiveFile(
  incoming: Incoming,
  store: Pick<BlobStore, 'receive'>,
  permission: UploadPermission,
): Promise<ReceivedFile> {
  const name = cleanFileName(incoming.name)
  const named = typeByName(name)
  // The type of a name without extension is known only by the content.
  if (named.extension !== '') permission.check(named)
  const hash = createHash('sha256')
  let type: FileType | null = null
  let most = named.extension === '' ? Number.POSITIVE_INFINITY : permission.most(named)
  if (incoming.bytes !== undefined && Number.isFinite(incoming.bytes) && incoming.bytes > most) throw tooLarge(most)
  let head: Buffer[] = []
  let size = 0

  async function look(): Promise<void> {
    type = await fileTypeOf(name, Buffer.concat(head))
    head = []
    permission.check(type)
    most = permission.most(type)
    if (size > most) throw tooLarge(most)
  }

  async function* looked(): AsyncIterable<Buffer> {
    for await (const chunk of incoming.content) {
      size += chunk.length
      if (size > most) throw tooLarge(most)
      hash.update(chunk)
      if (!type) {
        // The store may release a piece as soon as it has it.
        head.push(Buffer.from(chunk))
        if (size >= headBytes) await look()
      }
      yield chunk
    }
    if (!type) await look()
  }

  const received = await store.receive(looked())
  if (!type) throw new Error('nothing was looked at')
  if (received.size !== size) {
    await received.discard()
    throw new Error(`${received.size} of ${size} bytes were stored`)
  }
  return { name, type, sha256: hash.digest('hex'), received }
}
