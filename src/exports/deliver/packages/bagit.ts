import { createHash } from 'node:crypto'
import { Spool } from '../../../platform/memory/spool.ts'
import { hashedEntries, Listing, spoolEntry, textEntry } from './entries.ts'
import type { Package, PackageAbout } from './model.ts'

/** A bag with SHA-512 manifests. @see RFC 8493 */
export const bagit: Package = async function* (about, files) {
  const { created } = about
  await using spool = new Spool()
  const manifest = new Listing(spool)
  yield textEntry('bagit.txt', created, declaration)
  let octets = 0
  let count = 0
  for await (const { entry, result } of hashedEntries(files, 'sha512')) {
    const path = `data/${entry.path}`
    yield { ...entry, path }
    const { digest, size } = result()
    octets += size
    count += 1
    await manifest.add(`${digest}  ${encoded(path)}\n`)
  }
  const info = bagInfo(about, `${octets}.${count}`)
  yield spoolEntry('manifest-sha512.txt', created, spool)
  yield textEntry('bag-info.txt', created, info)
  const tags = [
    [sha512(declaration), 'bagit.txt'],
    [sha512(info), 'bag-info.txt'],
    [manifest.digest(), 'manifest-sha512.txt'],
  ]
  yield textEntry('tagmanifest-sha512.txt', created, tags.map((line) => `${line.join('  ')}\n`).join(''))
}

const declaration = 'BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n'

function bagInfo({ id, name, created, agent, user }: PackageAbout, oxum: string): string {
  const fields = {
    'Bagging-Date': created.toISOString().slice(0, 10),
    'Bag-Software-Agent': agent,
    'Contact-Name': user,
    'External-Identifier': id,
    'External-Description': name,
    'Payload-Oxum': oxum,
  }
  return Object.entries(fields)
    .map(([label, value]) => `${label}: ${oneLine(value)}\n`)
    .join('')
}

/** An indented line continues a value, and names of exports may have any characters: so line ends are removed. */
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/** RFC 8493, 2.1.3: these characters of paths are encoded, and no others. */
const encoded = (path: string): string => path.replaceAll('%', '%25').replaceAll('\n', '%0A').replaceAll('\r', '%0D')

const sha512 = (text: string): string => createHash('sha512').update(text).digest('hex')
