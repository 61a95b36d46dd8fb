import { checkedHost } from '../../platform/outgoing/addresses.ts'
import { option } from './options.ts'
import { type Send, sendInto } from './parcel.ts'

/** Sends the archive, or each file, to an FTP server; with TLS where `secure` is set. */
export const sendByFtp: Send = async (parcel) => {
  const { options, rules, patience, signal, name } = parcel
  const host = option(options, 'host') as string
  const [address] = await checkedHost(host, rules)
  const { Client } = await import('basic-ftp')
  // Contents must go to the same host as commands: another host was not checked.
  const client = new Client(patience, { allowSeparateTransferHost: false })
  const close = () => client.close()
  signal.addEventListener('abort', close, { once: true })
  try {
    await client.access({
      host: address?.address ?? host,
      port: (options.port as number | undefined) ?? 21,
      user: option(options, 'username') ?? 'anonymous',
      password: option(options, 'password') ?? '',
      secure: options.secure === true,
      secureOptions: { servername: host },
    })
    const directory = option(options, 'directory')
    if (directory) await client.ensureDir(directory)
    const root = await client.pwd()
    const count = await sendInto(parcel, {
      async put(path, content) {
        await client.uploadFrom(content, path)
      },
      async makeFolder(path) {
        await client.ensureDir(`${root.replace(/\/$/, '')}/${path}`)
        await client.cd(root)
      },
    })
    return [`${host}: ${count === null ? name : `${count} files`}`]
  } finally {
    signal.removeEventListener('abort', close)
    client.close()
  }
}
