import type { Readable } from 'node:stream'
import { ask } from '../../platform/outgoing/ask.ts'
import { bytesWithin } from '../../platform/outgoing/limits.ts'
import { option } from './options.ts'
import { eachFile, newFolders, type Parcel, type Send } from './parcel.ts'

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
  if (option(parcel.options, 'packer') !== 'files') {
    const target = below(base, parcel.name)
    const status = await exchange(parcel, target, 'PUT', parcel.archive())
    return [`PUT ${target.origin}${target.pathname}: ${status}`]
  }
  const known = new Set<string>()
  const count = await eachFile(parcel, async (path, content) => {
    const whole = `${parcel.name}/${path}`
    for (const folder of newFolders(whole, known)) await makeFolder(parcel, below(base, `${folder}/`))
    await exchange(parcel, below(base, whole), 'PUT', content)
  })
  return [`PUT ${base.origin}${base.pathname}${encodeURIComponent(parcel.name)}/: ${count} files`]
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
