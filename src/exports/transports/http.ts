import type { Readable } from 'node:stream'
import { ask } from '../../platform/outgoing/ask.ts'
import { bytesWithin } from '../../platform/outgoing/limits.ts'
import { option } from './options.ts'
import { type Parcel, type Send, sendInto } from './parcel.ts'

/** Bytes of an answer that are read. */
const mostAnswer = 64 * 1024

/** Sends one request with the archive as its body. */
export const sendByHttp: Send = async (parcel) => {
  const url = new URL(option(parcel.options, 'url') as string)
  const method = option(parcel.options, 'method') ?? 'POST'
  const status = await exchange(parcel, url, method, parcel.archive())
  return [`${method} ${url.origin}${url.pathname}: ${status}`]
}

/** Sends the archive, or each file, into a folder of a WebDAV server. */
export const sendByWebdav: Send = async (parcel) => {
  const base = new URL(option(parcel.options, 'url') as string)
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  let status = 0
  const count = await sendInto(parcel, {
    async put(path, content) {
      status = await exchange(parcel, below(base, path), 'PUT', content)
    },
    makeFolder: (path) => makeFolder(parcel, below(base, `${path}/`)),
  })
  const target = below(base, parcel.name)
  const place = `PUT ${target.origin}${target.pathname}`
  return [count === null ? `${place}: ${status}` : `${place}/: ${count} files`]
}

function below(base: URL, path: string): URL {
  return new URL(path.split('/').map(encodeURIComponent).join('/'), base)
}

/** The folder may exist already (405), or the server makes it when it is needed (RFC 4918, 9.3). */
async function makeFolder(parcel: Parcel, url: URL): Promise<void> {
  await exchange(parcel, url, 'MKCOL', undefined, [405])
}

/** @throws {Error} for an error status */
async function exchange(
  { options, contentType, rules, patience, signal }: Parcel,
  url: URL,
  method: string,
  body?: Readable,
  fine: readonly number[] = [],
): Promise<number> {
  const username = option(options, 'username')
  const password = option(options, 'password') ?? ''
  const headers = {
    'user-agent': 'svc',
    ...(body ? { 'content-type': contentType } : {}),
    ...(username === undefined
      ? {}
      : { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` }),
  }
  try {
    const response = await ask(url, { method, headers, rules, signal, ...(body ? { body } : { patience }) })
    await bytesWithin(response, mostAnswer)
    const status = response.statusCode ?? 0
    if ((status >= 200 && status < 300) || fine.includes(status)) return status
    throw new Error(`${method} ${url.origin}${url.pathname} was answered ${status}`)
  } finally {
    body?.destroy()
  }
}
