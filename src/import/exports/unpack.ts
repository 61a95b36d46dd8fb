/**
 * Unpacks archives into folders. No file is written outside of the folder, no link is created, and the limits hold for the unpacked
 * data, whatever the archive claims.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { openPromise } from 'yauzl'
import { PackageProblem } from './problem.ts'

export interface UnpackLimits {
  readonly entries: number
  /** Total bytes of all files. */
  readonly bytes: number
}

/** Writes the entries of one archive, one after the other. */
class Writer {
  readonly #into: string
  readonly #limits: UnpackLimits
  readonly #names = new Set<string>()
  #bytes = 0

  constructor(into: string, limits: UnpackLimits) {
    this.#into = into
    this.#limits = limits
  }

  /** @throws {PackageProblem} */
  place(name: string): string {
    const path = name.replace(/^(\.\/)+/, '')
    const steps = path.split('/')
    const bad = steps.some((step) => step === '' || step === '.' || step === '..' || Buffer.byteLength(step) > 255)
    if (bad || path.length > 2000 || /[\u0000-\u001f\u007f\\]/.test(path) || /^[a-z]:/i.test(path)) {
      throw new PackageProblem(
        `its entry ${JSON.stringify(name.slice(0, 200))} leads out of the folder that it is unpacked in`,
      )
    }
    // Names that are equal on some disks must not both occur.
    const key = path.normalize('NFC').toLowerCase()
    if (this.#names.has(key)) throw new PackageProblem(`its entry ${JSON.stringify(path.slice(0, 200))} is there twice`)
    this.#names.add(key)
    if (this.#names.size > this.#limits.entries) {
      throw new PackageProblem(`it has more than ${this.#limits.entries} entries`)
    }
    return join(this.#into, path)
  }

  async write(name: string, content: Readable): Promise<void> {
    const path = this.place(name)
    await mkdir(dirname(path), { recursive: true })
    const counted = new Transform({
      transform: (piece: Buffer, _encoding, done) => {
        this.#bytes += piece.length
        if (this.#bytes <= this.#limits.bytes) done(null, piece)
        else done(new PackageProblem(`it has more than ${this.#limits.bytes} bytes unpacked: see --most-bytes`))
      },
    })
    await pipeline(content, counted, createWriteStream(path, { flags: 'wx', mode: 0o600 }))
  }
}

const rules = { lazyEntries: true, autoClose: false, strictFileNames: true, validateEntrySizes: true } as const

/** @throws {PackageProblem} */
export async function unpackZip(archive: string, into: string, limits: UnpackLimits): Promise<void> {
  const zip = await openPromise(archive, rules)
  try {
    const writer = new Writer(into, limits)
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName.endsWith('/')) continue
      if (!isFile(entry)) throw new PackageProblem(`its entry ${entry.fileName.slice(0, 200)} is no file`)
      if (!entry.canDecodeFileData())
        throw new PackageProblem('it is encrypted, or packed in a way that is not known here')
      await writer.write(entry.fileName, await zip.openReadStreamPromise(entry))
    }
  } finally {
    zip.close()
  }
}

function isFile({
  externalFileAttributes,
  versionMadeBy,
}: {
  externalFileAttributes: number
  versionMadeBy: number
}): boolean {
  const kind = versionMadeBy >>> 8 === 3 ? (externalFileAttributes >>> 16) & 0o170_000 : 0
  return kind === 0 || kind === 0o100_000
}

/** @throws {PackageProblem} */
export async function unpackTar(archive: string, into: string, limits: UnpackLimits): Promise<void> {
  const writer = new Writer(into, limits)
  const entries = extract()
  const reading = pipeline(createReadStream(archive), createGunzip(), entries)
  reading.catch(() => {})
  for await (const entry of entries) {
    const { name, type } = entry.header
    if (type === 'file') await writer.write(name, entry)
    else if (type !== 'directory') throw new PackageProblem(`its entry ${name.slice(0, 200)} is no file`)
    entry.resume()
  }
  await reading
}
