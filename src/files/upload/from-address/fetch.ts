import { extension as extensionOfType } from 'mime-types'
import { AppError } from '../../../platform/errors.ts'
import type { Download } from '../../../platform/outgoing/download.ts'
import { extensionOf, nameInDisposition } from '../../records/file-name.ts'
import { fetchFailure, type OpenRemote } from '../../remote/open.ts'
import type { Incoming } from '../multipart.ts'

/** A file to be fetched from the web. */
export interface RemoteSource {
  readonly url: string
  /** The name; without it, or without its extension, the answer decides. */
  readonly filename?: string | undefined
  /** The content stays on the web. */
  readonly leave?: boolean | undefined
  readonly version_name?: string | undefined
  readonly reference?: string | undefined
  readonly id_parent?: number | undefined
  /** The answer's headers are not used for the name. */
  readonly skip_head_request?: boolean | undefined
  /** Whether renditions are made; by default, they are. */
  readonly produce_versions?: boolean | undefined
}

export interface Fetched extends Incoming {
  readonly etag: string | null
  close(): void
}

/** @throws {AppError} `EasInvalidURL` when it cannot be the address of a file. */
export function checkedUrl(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && url.href.length <= longest)
    return url.href
  const message = 'The address of a file begins with http:// or https:// and carries no password.'
  throw new AppError('EasInvalidURL', { url: text.slice(0, longest) }, { message })
}

const longest = 2000

/** Requests the file; its content is streamed. @throws {AppError} `EasRputError` when it cannot be fetched. */
export async function fetchRemote(open: OpenRemote, source: RemoteSource): Promise<Fetched> {
  const { url } = source
  const answer = await open(url).catch((error: unknown) => {
    throw failed(url, error)
  })
  try {
    const { status, headers } = answer
    if (status !== 200) throw failed(url, new Error(`the answer has the status ${status}`))
    const encoding = headers['content-encoding'] ?? 'identity'
    if (encoding !== 'identity') throw failed(url, new Error(`the content comes in the encoding ${encoding}`))
    const length = headers['content-length']
    if (length === '0') throw new AppError('EasRputErrorContentLength', { url, content_length: 0 })
    return {
      name: nameOf(source, answer),
      ...(length === undefined ? {} : { bytes: Number(length) }),
      content: told(url, answer.content()),
      etag: headers.etag ?? null,
      close: answer.close,
    }
  } catch (error) {
    answer.close()
    throw error
  }
}

async function* told(url: string, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* content
  } catch (error) {
    throw failed(url, error)
  }
}

function failed(url: string, cause: unknown): AppError {
  const msg = fetchFailure(cause)
  return new AppError('EasRputError', { url, msg }, { message: `The file could not be fetched: ${msg}.`, cause })
}

/** The sent name, else that of the answer's header, else the end of the address; each with an extension if one is known. */
function nameOf({ filename = '', url, skip_head_request }: RemoteSource, { headers, url: last }: Download): string {
  if (filename !== '' && (skip_head_request || extensionOf(filename) !== '')) return filename
  const header = nameInDisposition(headers['content-disposition'])
  const ends = [header, lastPart(last), lastPart(new URL(url))].filter((name) => name !== '')
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? ''
  const named = ends.find((name) => extensionOf(name) !== '')
  const known = named === undefined ? (type && extensionOfType(type)) || '' : extensionOf(named)
  if (filename !== '') return known === '' ? filename : `${filename}.${known}`
  if (header !== '' && extensionOf(header) !== '') return header
  if (named !== undefined) return named
  const [first] = ends
  if (first === undefined && known === '') throw new AppError('EasEmptyFilename', { url })
  return known === '' ? String(first) : `${first ?? 'file'}.${known}`
}

function lastPart({ pathname }: URL): string {
  const part = pathname.split('/').at(-1) ?? ''
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
