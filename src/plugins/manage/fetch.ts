import { badRequest } from '../../platform/errors.ts'
import type { Pace } from '../../platform/limits/pace.ts'
import { type AddressRules, RefusedAddress } from '../../platform/outgoing/addresses.ts'
import { openDownload } from '../../platform/outgoing/download.ts'
import { scrubAddress } from '../../platform/secrets/secrets.ts'

export interface FetchOptions {
  readonly rules: AddressRules
  readonly pace: Pace
}

/** An archive from an address; null: it has not changed, by its tag. */
export interface FetchedArchive {
  readonly content: AsyncIterable<Buffer>
  readonly etag: string | null
  close(): void
}

const patience = 30_000
const most = 600_000
const longestUrl = 2000

/** @throws {AppError} when it cannot be the address of a plugin. */
export function checkedUrl(text: string): string {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && url.href.length <= longestUrl)
    return url.href
  throw badRequest('The address of a plugin begins with http:// or https:// and carries no password.', { name: 'url' })
}

/** @throws {AppError} when it cannot be fetched. */
export async function fetchArchive(
  { rules, pace }: FetchOptions,
  url: string,
  etag: string | null,
): Promise<FetchedArchive | null> {
  try {
    const headers: Record<string, string> = etag === null ? {} : { 'if-none-match': etag }
    const answer = await openDownload({ url, headers, rules, pace, patience, most })
    if (answer.status === 304 && etag !== null) {
      answer.close()
      return null
    }
    if (answer.status !== 200) {
      answer.close()
      throw new Error(`the answer has the status ${answer.status}`)
    }
    const tag = answer.headers.etag
    return {
      content: answer.content(),
      etag: tag !== undefined && tag.length <= 1000 ? tag : null,
      close: answer.close,
    }
  } catch (error) {
    throw fetchFailed(url, error)
  }
}

/** The message reveals nothing of the service's own network. */
export function fetchFailed(url: string, error: unknown) {
  const { code, message } = error as NodeJS.ErrnoException
  const reason = error instanceof RefusedAddress ? 'the address is not allowed' : (code ?? message)
  return badRequest(`The plugin could not be fetched: ${reason}.`, { name: 'url', url: scrubAddress(url), reason })
}
