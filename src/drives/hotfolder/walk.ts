/** Entries of drop folders, and those that can be imported now. */
import { opendir } from 'node:fs/promises'
import { nameKey } from '../names.ts'
import { lookAt, openFolder } from './folder.ts'
import { isFailureLog } from './log.ts'
import { type DroppedFile, mostFolders, mostNames } from './model.ts'
import { importing, inOrder, isDropped, isJpeg, stemOf } from './names.ts'

/** The names of files in one folder. */
interface Listed {
  readonly folders: readonly string[]
  readonly names: readonly string[]
}

/** All folders below a drop folder with the names in them; folders beyond the limits are left for later. */
export async function listAll(root: string, uuid: string): Promise<Listed[]> {
  const found: Listed[] = []
  const open: (readonly string[])[] = [[]]
  let left = mostNames
  for (let folders = open.pop(); folders && left > 0; folders = open.pop()) {
    await using folder = await openFolder(root, [uuid, ...folders])
    if (!folder) continue
    const names: string[] = []
    for await (const entry of await opendir(folder.path, { bufferSize: 500 })) {
      if (left-- <= 0) break
      if (entry.isFile()) names.push(entry.name)
      else if (entry.isDirectory() && !entry.name.startsWith('.') && folders.length < mostFolders) {
        open.push([...folders, entry.name])
      }
    }
    found.push({ folders, names })
  }
  return found
}

export interface Ripe {
  /** The time of the file system's clock, in milliseconds. */
  readonly now: number
  /** Milliseconds without a change after which a file has settled. */
  readonly settled: number
  /** Paths of locked files, in small letters. */
  readonly locked: ReadonlySet<string>
  /** Files and bytes that are wanted; one file may have more. */
  readonly files: number
  readonly bytes: number
}

/** The next files to be imported, in their order. Files taken by an earlier import that did not finish come first. */
export async function ripeFiles(root: string, uuid: string, wanted: Ripe): Promise<DroppedFile[]> {
  const listed = await listAll(root, uuid)
  const candidates = listed.flatMap(({ folders, names }) => {
    const siblings = new Set(names)
    return names
      .filter((name) => isDropped(name, siblings))
      .map((storedName) => candidate(folders, storedName, siblings))
  })
  candidates.sort((one, other) => Number(other.taken) - Number(one.taken) || inOrder(one, other))
  const ripe: DroppedFile[] = []
  let bytes = 0
  let growing: string | null = null
  for (const one of candidates) {
    if (ripe.length >= wanted.files || bytes >= wanted.bytes) break
    if (one.waits) continue
    const group = [...one.folders, stemOf(one.name)].join('/')
    // The raw file of the photograph is still being written.
    if (isJpeg(one.name) && growing === group) continue
    const state = await stateOf(root, uuid, one, wanted)
    if (state === 'growing' && !isJpeg(one.name)) growing = group
    if (typeof state === 'string') continue
    bytes += state.bytes
    if (ripe.length > 0 && bytes > wanted.bytes) break
    ripe.push(state)
  }
  return ripe
}

interface Candidate {
  readonly folders: readonly string[]
  readonly name: string
  readonly storedName: string
  readonly taken: boolean
  /** A file with the same name is being imported. */
  readonly waits: boolean
}

function candidate(folders: readonly string[], storedName: string, siblings: ReadonlySet<string>): Candidate {
  const taken = storedName.startsWith(importing)
  const name = taken ? storedName.slice(importing.length) : storedName
  return { folders, name, storedName, taken, waits: !taken && siblings.has(`${importing}${name}`) }
}

async function stateOf(
  root: string,
  uuid: string,
  { folders, name, storedName, taken }: Candidate,
  { now, settled, locked }: Ripe,
): Promise<DroppedFile | 'growing' | 'none'> {
  await using folder = await openFolder(root, [uuid, ...folders])
  const info = folder && (await lookAt(folder, storedName))
  if (!folder || !info?.isFile()) return 'none'
  if (!taken) {
    if (locked.has(nameKey([...folders, name].join('/')))) return 'growing'
    // A modification time in the future is useless.
    const written = info.mtimeMs > now ? info.ctimeMs : Math.max(info.ctimeMs, info.mtimeMs)
    if (now - written < settled) return 'growing'
    if (info.size === 0 || (await isFailureLog(folder, storedName, info.size))) return 'none'
  }
  return { folders, name, storedName, bytes: info.size, modified: Math.floor(info.mtimeMs) }
}
