import type { Readable } from 'node:stream'
import { checkedAddresses } from '../../platform/outgoing/addresses.ts'
import { pinnedAgents } from '../../platform/outgoing/ask.ts'
import { option, packerOf } from './options.ts'
import { type Parcel, type Send, sendInto } from './parcel.ts'

const partSize = 16 * 1024 * 1024

/** Sends the archive, or each file, into a bucket. */
export const sendByS3: Send = async (parcel) => {
  const { options, name, rules, patience, signal, contentType } = parcel
  const { S3Client } = await clients()
  const region = option(options, 'region') ?? 'us-east-1'
  const endpoint = option(options, 'endpoint') ?? `https://s3.${region}.amazonaws.com`
  const addresses = await checkedAddresses(new URL(endpoint), rules)
  const s3 = new S3Client({
    region,
    endpoint,
    // The bucket must not become a part of the host name, which was checked.
    forcePathStyle: true,
    credentials: {
      accessKeyId: option(options, 'access_key_id') ?? '',
      secretAccessKey: option(options, 'secret_access_key') ?? '',
    },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: { ...pinnedAgents(addresses), connectionTimeout: 5000, requestTimeout: patience },
  })
  const prefix = option(options, 'prefix') ?? ''
  const bucket = option(options, 'bucket') as string
  const type = packerOf(options) === 'files' ? 'application/octet-stream' : contentType
  try {
    const count = await sendInto(parcel, {
      put: (path, content) => upload(s3, { bucket, key: prefix + path, content, type, signal }),
      makeFolder: async () => {},
    })
    return [`${bucket}: ${count === null ? prefix + name : `${count} files`}`]
  } finally {
    s3.destroy()
  }
}

async function upload(
  client: InstanceType<Awaited<ReturnType<typeof clients>>['S3Client']>,
  {
    bucket,
    key,
    content,
    type,
    signal,
  }: { readonly bucket: string; readonly key: string; readonly content: Readable; readonly type: string } & Pick<
    Parcel,
    'signal'
  >,
): Promise<void> {
  const { Upload } = await clients()
  const params = { Bucket: bucket, Key: key, Body: content, ContentType: type }
  const running = new Upload({ client, params, partSize, queueSize: 1 })
  const abort = () => void running.abort().catch(() => {})
  signal.addEventListener('abort', abort, { once: true })
  try {
    await running.done()
  } catch (error) {
    await running.abort().catch(() => {})
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** These packages are only installed where S3 is used. */
async function clients() {
  const [{ S3Client }, { Upload }] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')])
  return { S3Client, Upload }
}
