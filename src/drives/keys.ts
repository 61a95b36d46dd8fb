/**
 * Addresses of drives (decision 41). A key is a UUID that names a collection and the generation of its address, encrypted
 * as one block with a key of the instance. It is answered to callers who may upload, is stored nowhere, and cannot be
 * guessed.
 */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import type { Seal } from '../platform/secrets/seal.ts'

export interface UploadAddress {
  readonly collectionId: number
  readonly generation: number
}

const mark = 0x64726976

export type UploadKeys = ReturnType<typeof createUploadKeys>

export function createUploadKeys(seal: Pick<Seal, 'keyFor'>) {
  const secret = async (): Promise<Buffer> => (await seal.keyFor('upload addresses')).subarray(0, 16)

  return {
    async keyOf({ collectionId, generation }: UploadAddress): Promise<string> {
      const block = Buffer.alloc(16)
      block.writeBigUInt64BE(BigInt(collectionId), 0)
      block.writeUInt32BE(generation, 8)
      block.writeUInt32BE(mark, 12)
      const cipher = createCipheriv('aes-128-ecb', await secret(), null).setAutoPadding(false)
      return asUuid(Buffer.concat([cipher.update(block), cipher.final()]))
    },

    /** null: it is not a key of this instance. */
    async read(key: string): Promise<UploadAddress | null> {
      if (!/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(key)) return null
      const sealed = Buffer.from(key.replaceAll('-', ''), 'hex')
      const decipher = createDecipheriv('aes-128-ecb', await secret(), null).setAutoPadding(false)
      const block = Buffer.concat([decipher.update(sealed), decipher.final()])
      const collectionId = block.readBigUInt64BE(0)
      if (block.readUInt32BE(12) !== mark || collectionId > BigInt(Number.MAX_SAFE_INTEGER)) return null
      return { collectionId: Number(collectionId), generation: block.readUInt32BE(8) }
    },
  }
}

function asUuid(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
