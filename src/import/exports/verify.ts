/** Whether a package holds what its lists say, and nothing besides. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { createInterface } from 'node:readline'
import { PackageProblem } from './problem.ts'

/** @throws {PackageProblem} */
export async function verifyBag(folder: string): Promise<void> {
  const listed = new Set<string>()
  const manifest = join(folder, 'manifest-sha512.txt')
  for await (const line of linesOf(manifest)) {
    const [, digest = '', name = ''] = /^([0-9a-fA-F]{128})\s+(.+)$/.exec(line) ?? []
    const path = name
      .replaceAll(/%0[aA]/g, '\n')
      .replaceAll(/%0[dD]/g, '\r')
      .replaceAll('%25', '%')
    if (digest === '' || !path.startsWith('data/')) throw new PackageProblem('its manifest-sha512.txt cannot be read')
    await assertHash(folder, path, 'sha512', digest)
    listed.add(path)
  }
  await assertAll(folder, 'data', listed)
}

interface Inventory {
  readonly manifest?: Readonly<Record<string, readonly string[]>>
}

/** @throws {PackageProblem} */
export async function verifyOcfl(folder: string): Promise<void> {
  const [digest = ''] = (await textOf(folder, 'inventory.json.sha512')).split(/\s/)
  await assertHash(folder, 'inventory.json', 'sha512', digest)
  const { manifest = {} } = JSON.parse(await textOf(folder, 'inventory.json')) as Inventory
  const listed = new Set<string>()
  for (const [sum, paths] of Object.entries(manifest)) {
    for (const path of paths) {
      await assertHash(folder, path, 'sha512', sum)
      listed.add(path)
    }
  }
  await assertAll(folder, join('v1', 'content'), listed)
}

interface Entity {
  readonly '@id'?: string
  readonly '@type'?: string | readonly string[]
  readonly sha256?: string
}

/** @throws {PackageProblem} */
export async function verifyCrate(folder: string): Promise<void> {
  const text = await textOf(folder, 'ro-crate-metadata.json')
  const { '@graph': graph = [] } = JSON.parse(text) as { readonly '@graph'?: readonly Entity[] }
  for (const { '@id': id = '', '@type': type, sha256 } of graph) {
    if (![type].flat().includes('File') || /^[a-z]+:/i.test(id)) continue
    const path = decodeURIComponent(id.replace(/^\.\//, ''))
    if (sha256) await assertHash(folder, path, 'sha256', sha256)
  }
}

async function assertHash(folder: string, path: string, algorithm: string, digest: string): Promise<void> {
  const full = join(folder, path)
  const way = relative(folder, full)
  if (way === '' || way.startsWith(`..${sep}`) || way === '..')
    throw new PackageProblem(`its list names ${path}, which lies outside`)
  const hash = createHash(algorithm)
  try {
    for await (const piece of createReadStream(full)) hash.update(piece as Buffer)
  } catch {
    throw new PackageProblem(`${path} is listed, and not there`)
  }
  if (hash.digest('hex') !== digest.toLowerCase()) throw new PackageProblem(`${path} is not what its hash says`)
}

/** Nothing lies there that is not listed. */
async function assertAll(folder: string, below: string, listed: ReadonlySet<string>): Promise<void> {
  for (const file of await readdir(join(folder, below), { recursive: true, withFileTypes: true }).catch(() => [])) {
    if (file.isDirectory()) continue
    const path = relative(folder, join(file.parentPath, file.name)).split(sep).join('/')
    if (!listed.has(path)) throw new PackageProblem(`${path} is there, and not listed`)
  }
}

const textOf = (folder: string, name: string): Promise<string> =>
  readFile(join(folder, name), 'utf8').catch(() => {
    throw new PackageProblem(`its ${name} is not there`)
  })

async function* linesOf(path: string): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Number.POSITIVE_INFINITY })
  } catch {
    throw new PackageProblem('its manifest-sha512.txt is not there')
  }
}
