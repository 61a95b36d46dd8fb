/** An export on a disk: a folder, an archive, or its JSON alone; plain, or as a bag, an OCFL object or a crate. */
import { mkdtemp, open, readdir, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'
import { PackageProblem } from './problem.ts'
import { unpackTar, unpackZip } from './unpack.ts'
import { verifyBag, verifyCrate, verifyOcfl } from './verify.ts'

export interface OpenedExport extends AsyncDisposable {
  /** The folder to which the paths of the export are relative. */
  readonly root: string
  /** Its documents: a list of objects in one file, or files with one object each. */
  readonly documents: readonly string[]
  readonly kind: string
}

const mostEntries = 1_000_000

/** Unpacks and checks the export; the service is not contacted yet. @throws {PackageProblem} */
export async function openExport(file: string, mostBytes: number): Promise<OpenedExport> {
  const found = await stat(file).catch(() => null)
  if (!found) throw new PackageProblem(`${file} is not there`)
  if (found.isDirectory()) return { ...(await lookInto(await realpath(file))), async [Symbol.asyncDispose]() {} }
  const kind = await kindOf(file)
  if (kind === 'json') {
    const document = await realpath(file)
    return { root: dirname(document), documents: [document], kind: 'JSON', async [Symbol.asyncDispose]() {} }
  }
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-import-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const limits = { entries: mostEntries, bytes: mostBytes }
    await (kind === 'zip' ? unpackZip : unpackTar)(file, folder, limits).catch((error: Error) => {
      if (error instanceof PackageProblem) throw error
      throw new PackageProblem(`it is no archive that can be read: ${error.message}`)
    })
    return { ...(await lookInto(await realpath(folder))), [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/**
 * Of tables and XML the same objects cannot be made again: tables name linked objects by numbers of their instance and put an apostrophe
 * before texts that look like formulas, XLSX cuts long texts, XML leaves characters out that it does not have.
 */
const noJson =
  'it has no export.json, and no folder json: tables and XML do not say all of an object, so export it as JSON'

/** By its first bytes. @throws {PackageProblem} */
async function kindOf(file: string): Promise<'zip' | 'tar_gz' | 'json'> {
  const handle = await open(file)
  try {
    const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    if (buffer.readUInt32BE(0) === 0x504b0304) return 'zip'
    if (buffer.readUInt16BE(0) === 0x1f8b) return 'tar_gz'
    if (buffer[0] === 0x5b || buffer[0] === 0x7b) return 'json'
  } finally {
    await handle.close()
  }
  throw new PackageProblem(
    'it is neither a ZIP nor a TAR.GZ, nor JSON: tables and XML do not say all of an object, so export it as JSON',
  )
}

/** The package in a folder, or in the only folder in it. */
async function lookInto(folder: string): Promise<Omit<OpenedExport, keyof AsyncDisposable>> {
  const names = await namesIn(folder)
  if (names.has('bagit.txt')) {
    await verifyBag(folder)
    return { ...(await documentsIn(join(folder, 'data'))), kind: 'bag' }
  }
  if (names.has('0=ocfl_object_1.1')) {
    await verifyOcfl(folder)
    return { ...(await documentsIn(join(folder, 'v1', 'content'))), kind: 'OCFL object' }
  }
  if (names.has('ro-crate-metadata.json')) {
    await verifyCrate(folder)
    return { ...(await documentsIn(folder)), kind: 'crate' }
  }
  if (names.has('export.json') || names.has('json')) return { ...(await documentsIn(folder)), kind: 'export' }
  const [only = ''] = names
  if (names.size === 1 && (await stat(join(folder, only))).isDirectory()) return lookInto(join(folder, only))
  throw new PackageProblem(noJson)
}

const namesIn = async (folder: string): Promise<Set<string>> => new Set(await readdir(folder).catch(() => []))

async function documentsIn(root: string): Promise<{ readonly root: string; readonly documents: readonly string[] }> {
  const names = await namesIn(root)
  if (names.has('export.json')) return { root, documents: [join(root, 'export.json')] }
  if (!names.has('json')) throw new PackageProblem(noJson)
  const documents = (await readdir(join(root, 'json'))).filter((name) => name.endsWith('.json')).sort()
  return { root, documents: documents.map((name) => join(root, 'json', name)) }
}

/** A file of the package by its path in it; null: there is none. No link leads out of it. */
export async function fileIn(
  root: string,
  path: string,
): Promise<{ readonly path: string; readonly size: number } | null> {
  const real = await realpath(join(root, path)).catch(() => null)
  if (real === null) return null
  const way = relative(root, real)
  if (way === '' || way === '..' || way.startsWith(`..${sep}`)) return null
  const found = await stat(real)
  return found.isFile() ? { path: real, size: found.size } : null
}
