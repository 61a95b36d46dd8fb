import { stat, statfs } from 'node:fs/promises'

/** A disk with too little free space. */
export interface FullDisk {
  /** A folder on it. */
  readonly folder: string
  /** Bytes. */
  readonly free: number
  readonly size: number
}

/** The disks of the folders with fewer free bytes than `least`, each once; a missing folder has no disk. */
export async function fullDisks(folders: readonly string[], least: number): Promise<FullDisk[]> {
  const seen = new Set<number>()
  const found: FullDisk[] = []
  for (const folder of folders) {
    const [place, disk] = await Promise.all([stat(folder).catch(() => null), statfs(folder).catch(() => null)])
    if (!place || !disk || seen.has(place.dev)) continue
    seen.add(place.dev)
    const [free, size] = [disk.bavail * disk.bsize, disk.blocks * disk.bsize]
    // A file system of size 0 is no disk.
    if (size > 0 && free < least) found.push({ folder, free, size })
  }
  return found
}
