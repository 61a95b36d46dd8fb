/** Checks that a package contains the files in its lists; a bag and an OCFL object must contain no others. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { createInterface } from 'node:readline'
import { isWire, type Wire } from './model.ts'
import { PackageProblem } from './problem.ts'

const manifestName = 'manifest-sha512.txt'
const tagManifestName = 'tagmanifest-sha512.txt'

/** RFC 8493, 3: payload and tag files are what their manifests say. A bag may have no manifest of tag files. @throws {PackageProblem} */
export async function verifyBag(folder: string): Promise<void> {
  if (await isThere(folder, tagManifestName)) {
    const told = new Set<string>()
    for await (const { path, digest } of manifestOf(folder, tagManifestName)) {
      if (path.startsWith('data/') || path === tagManifestName) throw unreadable(tagManifestName)
      await assertHash(folder, path, 'sha512', digest)
      told.add(path)
    }
    if (!told.has(manifestName)) throw new PackageProblem(`its ${tagManifestName} does not list ${manifestName}`)
  }
  const listed = new Set<string>()
  for await (const { path, digest } of manifestOf(folder, manifestName)) {
    if (!path.startsWith('data/')) throw unreadable(manifestName)
    await assertHash(folder, path, 'sha512', digest)
    listed.add(path)
  }
  await assertAll(folder, 'data', listed)
}

/** The lines of a manifest; three letters of paths are written as RFC 8493, 2.1.3 has them. @throws {PackageProblem} */
async function* manifestOf(
  folder: string,
  name: string,
): AsyncGenerator<{ readonly path: string; readonly digest: string }> {
  for await (const line of linesOf(folder, name)) {
    const [, digest, written] = /^([0-9a-fA-F]{128})\s+(.+)$/.exec(line) ?? []
    if (digest === undefined || written === undefined) throw unreadable(name)
    const path = written
      .replaceAll(/%0[aA]/g, '\n')
      .replaceAll(/%0[dD]/g, '\r')
      .replaceAll('%25', '%')
    yield { path, digest }
  }
}

const unreadable = (name: string): PackageProblem => new PackageProblem(`its ${name} cannot be read`)

const isThere = (folder: string, name: string): Promise<boolean> =>
  stat(join(folder, name)).then(
    () => true,
    () => false,
  )

interface Inventory {
  readonly manifest?: Readonly<Record<string, unknown>>
}

/** @throws {PackageProblem} */
export async function verifyOcfl(folder: string): Promise<void> {
  const [digest = ''] = (await textOf(folder, 'inventory.json.sha512')).split(/\s/)
  await assertHash(folder, 'inventory.json', 'sha512', digest)
  const { manifest = {} } = (await jsonOf(folder, 'inventory.json')) as Inventory
  const listed = new Set<string>()
  for (const [sum, paths] of Object.entries(manifest)) {
    for (const path of Array.isArray(paths) ? (paths as unknown[]) : [paths]) {
      if (typeof path !== 'string') throw new PackageProblem('its inventory.json names no paths')
      await assertHash(folder, path, 'sha512', sum)
      listed.add(path)
    }
  }
  await assertAll(folder, join('v1', 'content'), listed)
}

const crateName = 'ro-crate-metadata.json'

/** @throws {PackageProblem} */
export async function verifyCrate(folder: string): Promise<void> {
  const { '@graph': graph } = await jsonOf(folder, crateName)
  if (!Array.isArray(graph)) throw new PackageProblem(`its ${crateName} has no list @graph`)
  for (const entity of graph as unknown[]) {
    if (!isWire(entity)) throw new PackageProblem(`its ${crateName} lists something that is no object`)
    const { '@id': id, '@type': type, sha256 } = entity
    if (![type].flat().includes('File') || typeof id !== 'string' || /^[a-z]+:/i.test(id)) continue
    if (typeof sha256 === 'string') await assertHash(folder, pathOf(id), 'sha256', sha256)
  }
}

function pathOf(id: string): string {
  try {
    return decodeURIComponent(id.replace(/^\.\//, ''))
  } catch {
    throw new PackageProblem(`its ${crateName} names ${id.slice(0, 200)}, which is no path`)
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

/** Every file must be listed. */
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

async function jsonOf(folder: string, name: string): Promise<Wire> {
  const text = await textOf(folder, name)
  try {
    const value: unknown = JSON.parse(text)
    if (isWire(value)) return value
  } catch {
    // Told below.
  }
  throw new PackageProblem(`its ${name} is no JSON object`)
}

async function* linesOf(folder: string, name: string): AsyncGenerator<string> {
  const input = createReadStream(join(folder, name), 'utf8')
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
  } catch {
    throw new PackageProblem(`its ${name} is not there`)
  }
}
