import { Spool } from '../../../platform/memory/spool.ts'
import { hashedEntries, Listing, spoolEntry, textEntry } from './entries.ts'
import type { Package, PackageAbout } from './model.ts'

/** An OCFL object with one version. @see https://ocfl.io/1.1/spec/ */
export const ocfl: Package = async function* (about, files) {
  const { created } = about
  await using records = new Spool()
  const twins = new Twins()
  yield textEntry('0=ocfl_object_1.1', created, 'ocfl_object_1.1\n')
  for await (const { entry, result } of hashedEntries(files, 'sha512')) {
    yield { ...entry, path: `v1/content/${entry.path}` }
    const { digest } = result()
    twins.add(digest, entry.path)
    await records.add(JSON.stringify([digest, entry.path]))
  }
  await using inventorySpool = new Spool()
  const inventory = new Listing(inventorySpool)
  await writeInventory(inventory, about, { records, twins })
  const sidecar = `${inventory.digest()} inventory.json\n`
  for (const folder of ['v1/', '']) {
    yield spoolEntry(`${folder}inventory.json`, created, inventorySpool)
    yield textEntry(`${folder}inventory.json.sha512`, created, sidecar)
  }
}

/**
 * Files with the same content: an inventory names a content once. Only a prefix of each digest is kept; digests with the
 * same prefix are compared completely.
 */
class Twins {
  readonly #beginnings = new Set<number>()
  readonly #further = new Map<string, string[]>()

  add(digest: string, path: string): void {
    const beginning = Number.parseInt(digest.slice(0, 12), 16)
    if (!this.#beginnings.has(beginning)) {
      this.#beginnings.add(beginning)
      return
    }
    const paths = this.#further.get(digest)
    if (paths) paths.push(path)
    else this.#further.set(digest, [path])
  }

  /** The paths of a content, given its first file; null: this is not the first one. */
  pathsOf(digest: string, path: string, told: Set<string>): readonly string[] | null {
    const further = this.#further.get(digest)
    if (!further) return [path]
    if (told.has(digest)) return null
    told.add(digest)
    return [path, ...further.filter((one) => one !== path)]
  }
}

interface Contents {
  readonly records: Spool
  readonly twins: Twins
}

async function writeInventory(inventory: Listing, about: PackageAbout, contents: Contents): Promise<void> {
  const { id, name, created, user, userAddress } = about
  const head = {
    id,
    type: 'https://ocfl.io/1.1/spec/#inventory',
    digestAlgorithm: 'sha512',
    head: 'v1',
    contentDirectory: 'content',
  }
  await inventory.add(`${JSON.stringify(head).slice(0, -1)},\n"manifest":{`)
  await writeContents(inventory, contents, 'v1/content/')
  const version = { created: created.toISOString(), message: name, user: { name: user, address: userAddress } }
  await inventory.add(`},\n"versions":{"v1":${JSON.stringify(version).slice(0, -1)},"state":{`)
  await writeContents(inventory, contents, '')
  await inventory.add('}}}}\n')
}

async function writeContents(inventory: Listing, { records, twins }: Contents, prefix: string): Promise<void> {
  const told = new Set<string>()
  let separator = '\n'
  for await (const line of records.lines()) {
    const [digest, path] = JSON.parse(line) as readonly [string, string]
    const paths = twins.pathsOf(digest, path, told)
    if (paths === null) continue
    await inventory.add(`${separator}"${digest}":${JSON.stringify(paths.map((one) => prefix + one))}`)
    separator = ',\n'
  }
}
