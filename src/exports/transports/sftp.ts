import { createHash, timingSafeEqual } from 'node:crypto'
import { checkedHost } from '../../platform/outgoing/addresses.ts'
import { withoutEnd } from '../../platform/values/text.ts'
import { option } from './options.ts'
import { type Send, sendInto } from './parcel.ts'

/** Sends the archive, or each file, to an SFTP server whose host key must be that of the transport. */
export const sendBySftp: Send = async (parcel) => {
  const { options, rules, patience, signal, name } = parcel
  const host = option(options, 'host') as string
  const [address] = await checkedHost(host, rules)
  const { default: SftpClient } = await import('ssh2-sftp-client')
  const client = new SftpClient()
  const close = () => void client.end().catch(() => {})
  signal.addEventListener('abort', close, { once: true })
  const known = option(options, 'host_key') ?? ''
  const [password, privateKey, passphrase] = [
    option(options, 'password'),
    option(options, 'private_key'),
    option(options, 'passphrase'),
  ]
  try {
    await client.connect({
      host: address?.address ?? host,
      port: (options.port as number | undefined) ?? 22,
      username: option(options, 'username') ?? '',
      ...(password === undefined ? {} : { password }),
      ...(privateKey === undefined ? {} : { privateKey }),
      ...(passphrase === undefined ? {} : { passphrase }),
      readyTimeout: patience,
      hostVerifier: (key: Buffer) => isKey(key, known),
    })
    const directory = withoutEnd(option(options, 'directory') ?? '.', '/') || '/'
    if (directory !== '.') await client.mkdir(directory, true)
    const place = (path: string): string => `${directory === '/' ? '' : directory}/${path}`
    const count = await sendInto(parcel, {
      async put(path, content) {
        await client.put(content, place(path))
      },
      async makeFolder(path) {
        await client.mkdir(place(path), true)
      },
    })
    return [`${host}: ${count === null ? name : `${count} files`}`]
  } finally {
    signal.removeEventListener('abort', close)
    await client.end().catch(() => {})
  }
}

/** `SHA256:` and the hash in base64, as `ssh-keygen -lf` prints it. */
function isKey(key: Buffer, known: string): boolean {
  const wanted = Buffer.from(known.replace(/^SHA256:/, ''), 'base64')
  const hash = createHash('sha256').update(key).digest()
  return wanted.length === hash.length && timingSafeEqual(wanted, hash)
}
