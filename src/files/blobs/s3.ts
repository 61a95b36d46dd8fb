import { tmpdir } from 'node:os'
import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { currentDeadline } from '../../platform/limits/deadline.ts'
import { createShares } from '../../platform/limits/shares.ts'
import { usualLimits, withinBytes } from '../../platform/outgoing/limits.ts'
import {
  BlobMissing,
  type BlobStore,
  type ByteRange,
  hashIn,
  pathOf,
  type Received,
  type Sha256,
  temporary,
} from './blob-store.ts'
import { createSpool, type SpooledPart } from './spool.ts'

export interface S3Config {
  readonly bucket: string
  /** `host`, `host:port` or a whole address; empty: the address of AWS for the region. */
  readonly endpoint: string
  readonly accesskey: string
  readonly secretkey: string
  readonly region: string
  readonly ssl: boolean
}

/** Milliseconds that the server may take to begin an answer, and to continue it. */
const defaultPatience = 60_000

const MiB = 1024 * 1024
/** Bytes of a part: 10,000 of them are the most that S3 takes, so this is good for 150 GiB. */
const partSize = 16 * MiB
/** Parts that are sent at the same time: these are in memory. */
const partsAtOnce = 4
/** The largest content that S3 copies with one request, and the size of the parts of a larger one. */
const mostCopied = 5 * 1024 * MiB
const copiedPart = 1024 * MiB

/**
 * Contents in a bucket. An upload goes to a temporary key in parts, which S3 completes or discards. It is then copied
 * inside the bucket to the key of its hash, because the hash is known only at the end. A part is on the local disk until
 * it is complete: in memory, 200 uploads at once would take more than 3 GB.
 */
export function createS3Store(
  config: S3Config,
  prefix: string,
  {
    folder = tmpdir(),
    patience = defaultPatience,
  }: {
    /** The local folder for parts that are not complete. */
    readonly folder?: string
    readonly patience?: number
  } = {},
): BlobStore {
  const { bucket: Bucket } = config
  const s3 = new S3Client({
    region: config.region || 'us-east-1',
    credentials: { accessKeyId: config.accesskey, secretAccessKey: config.secretkey },
    ...(config.endpoint === '' ? {} : { endpoint: addressOf(config), forcePathStyle: true }),
    // Not all S3-compatible stores know the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 5000,
      requestTimeout: patience,
      throwOnRequestTimeout: true,
      // A transfer that stops in the middle must not wait for ever.
      socketTimeout: 2 * patience,
    },
  })
  limitAnswers(s3)
  const keyOf = (sha256: Sha256): string => prefix + pathOf(sha256)
  const spooled = createSpool(folder)
  const sending = createShares(partsAtOnce)

  async function receive(source: AsyncIterable<Buffer>): Promise<Received> {
    const Key = `${prefix}${temporary}/${crypto.randomUUID()}`
    let size = 0
    let UploadId: string | undefined
    const Parts: CompletedPart[] = []
    async function send(part: SpooledPart): Promise<void> {
      const Body = await part.read()
      if (part.isLast && Parts.length === 0) {
        await s3.send(new PutObjectCommand({ Bucket, Key, Body }))
        return
      }
      UploadId ??= (await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))).UploadId
      const PartNumber = Parts.length + 1
      const { ETag } = await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }))
      Parts.push({ PartNumber, ETag })
    }
    try {
      for await (const part of spooled(source, partSize)) {
        await sending.run(currentDeadline().who, () => send(part))
        size += part.bytes
      }
      if (UploadId !== undefined) {
        const MultipartUpload = { Parts }
        await s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload }))
      }
    } catch (error) {
      if (UploadId !== undefined) {
        await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })).catch(() => {})
      }
      await remove(Key).catch(() => {})
      throw error
    }
    return {
      size,
      discard: () => remove(Key),
      async keep(sha256) {
        const CopySource = copySource(Bucket, Key)
        if (size <= mostCopied) await s3.send(new CopyObjectCommand({ Bucket, Key: keyOf(sha256), CopySource }))
        else await copyParts(keyOf(sha256), CopySource, size)
        const kept = await sizeOf(keyOf(sha256))
        if (kept !== size) throw new Error(`S3 kept ${kept} of ${size} bytes`)
        await remove(Key)
      },
    }
  }

  async function copyParts(Key: string, CopySource: string, size: number): Promise<void> {
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))
    try {
      const Parts: CompletedPart[] = []
      for (let start = 0; start < size; start += copiedPart) {
        const PartNumber = Parts.length + 1
        const CopySourceRange = `bytes=${start}-${Math.min(size, start + copiedPart) - 1}`
        const part = { Bucket, Key, UploadId, PartNumber, CopySource, CopySourceRange }
        const { CopyPartResult } = await s3.send(new UploadPartCopyCommand(part))
        Parts.push({ PartNumber, ETag: CopyPartResult?.ETag })
      }
      await s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }))
    } catch (error) {
      await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })).catch(() => {})
      throw error
    }
  }

  async function remove(Key: string): Promise<void> {
    await s3.send(new DeleteObjectCommand({ Bucket, Key }))
  }

  async function sizeOf(Key: string): Promise<number | null> {
    try {
      const { ContentLength } = await s3.send(new HeadObjectCommand({ Bucket, Key }))
      return ContentLength ?? 0
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  /** Unfinished uploads in parts, left by an ended process, take space and are not listed among the keys. */
  async function abortUnfinished(before: Date): Promise<number> {
    let aborted = 0
    for await (const { Key = '', UploadId, Initiated = new Date() } of unfinishedBelow(prefix)) {
      const name = Key.slice(prefix.length)
      if (Initiated >= before || !(name.startsWith(`${temporary}/`) || hashIn(name) !== null)) continue
      await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
      aborted++
    }
    return aborted
  }

  async function* unfinishedBelow(Prefix: string) {
    let at: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | null = {}
    while (at) {
      const page: ListMultipartUploadsCommandOutput | null = await s3
        .send(new ListMultipartUploadsCommand({ Bucket, Prefix, ...at }))
        .catch((error: unknown) => {
          // Not every S3-compatible server can list such uploads; those servers remove them without being asked.
          if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 501) return null
          throw error
        })
      yield* page?.Uploads ?? []
      at = page?.IsTruncated ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : null
    }
  }

  async function* keysBelow(Prefix: string) {
    let ContinuationToken: string | undefined
    do {
      const page = await s3.send(new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken }))
      for (const { Key = '', Size = 0, LastModified = new Date() } of page.Contents ?? []) {
        yield { key: Key, size: Size, at: LastModified }
      }
      ContinuationToken = page.NextContinuationToken
    } while (ContinuationToken !== undefined)
  }

  return {
    receive,
    async read(sha256, range) {
      try {
        const command = new GetObjectCommand({ Bucket, Key: keyOf(sha256), Range: rangeHeader(range) })
        const { Body, ContentLength } = await s3.send(command)
        const stream = Body as Readable
        // Some servers ignore ranges: they would deliver other bytes than those asked for.
        if (range && ContentLength !== range.end - range.start + 1) {
          stream.destroy()
          throw new Error('S3 answered with other bytes than it was asked for')
        }
        return stream
      } catch (error) {
        throw isMissing(error) ? new BlobMissing(sha256, { cause: error }) : error
      }
    },
    size: (sha256) => sizeOf(keyOf(sha256)),
    remove: (sha256) => remove(keyOf(sha256)),
    async sweep(before) {
      let removed = 0
      for await (const { key, at } of keysBelow(`${prefix}${temporary}/`)) {
        if (at >= before) continue
        await remove(key)
        removed++
      }
      return removed + (await abortUnfinished(before))
    },
    async *list() {
      for await (const { key, size } of keysBelow(prefix)) {
        const sha256 = hashIn(key.slice(prefix.length))
        if (sha256 !== null) yield { sha256, size }
      }
    },
    async probe({ readOnly }) {
      if (readOnly) {
        await s3.send(new ListObjectsV2Command({ Bucket, Prefix: prefix }))
        return
      }
      const content = Buffer.from(crypto.randomUUID())
      const received = await receive(Readable.from([content]))
      await received.discard()
    },
    close: () => s3.destroy(),
  }
}

function addressOf({ endpoint, ssl }: S3Config): string {
  return /^https?:\/\//.test(endpoint) ? endpoint : `${ssl ? 'https' : 'http'}://${endpoint}`
}

function copySource(bucket: string, key: string): string {
  return `${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`
}

function rangeHeader(range: ByteRange | undefined): string | undefined {
  return range && `bytes=${range.start}-${range.end}`
}

function isMissing(error: unknown): boolean {
  return error instanceof S3ServiceException && (error.name === 'NoSuchKey' || error.$metadata.httpStatusCode === 404)
}

/** Answers of S3 are read within the limits for all other servers. Contents are not limited: they are streamed. */
function limitAnswers(s3: S3Client): void {
  s3.middlewareStack.addRelativeTo(
    <Args, Result>(next: (args: Args) => Promise<Result>, { commandName }: { commandName?: string }) =>
      async (args: Args): Promise<Result> => {
        const result = await next(args)
        const { response } = result as { response?: { statusCode?: number; body?: unknown } }
        const isContent = commandName === 'GetObjectCommand' && (response?.statusCode ?? 500) < 300
        if (!isContent && response?.body instanceof Readable) {
          response.body = Readable.from(withinBytes(response.body, usualLimits.answer), { objectMode: false })
        }
        return result
      },
    { relation: 'after', toMiddleware: 'deserializerMiddleware', name: 'limitAnswers' },
  )
}
