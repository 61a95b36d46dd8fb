import { spawn } from 'node:child_process'
import { access, constants, mkdir, readdir, symlink } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { CannotMake } from './workshop/failure.ts'

/** Programs of the machine that make what nothing inside of the service does. */
export const programNames = ['ffmpeg', 'ffprobe', 'soffice'] as const
export type ProgramName = (typeof programNames)[number]

export interface ProgramsOptions {
  /** Where each is: a path, or a name that is looked for on the path of the machine. */
  readonly names: Readonly<Record<ProgramName, string>>
  /** Seconds that one may work. */
  readonly seconds: number
}

export type Programs = Awaited<ReturnType<typeof findPrograms>>

const mostOutput = 1_000_000

/** Looks for the programs once: one that comes later is found by the next start. */
export async function findPrograms({ names, seconds }: ProgramsOptions) {
  const found = new Map<ProgramName, string>()
  for (const name of programNames) {
    const path = await find(names[name])
    if (path !== null) found.set(name, path)
  }

  /** What it writes to its output. @throws {CannotMake} when it is not there, fails, or takes too long. */
  async function run(name: ProgramName, args: readonly string[], signal: AbortSignal, cwd: string): Promise<string> {
    const path = found.get(name)
    if (path === undefined) throw new CannotMake('unavailable', `it needs the program ${name}`, { needs: name })
    const child = spawn(path, args, {
      cwd,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env.PATH, HOME: cwd, TMPDIR: cwd, LANG: 'C.UTF-8' },
      // A group of its own, so that what it starts ends with it.
      detached: true,
    })
    const ended = Promise.withResolvers<string>()
    const end = (error: Error): void => {
      ended.reject(error)
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It has ended by itself.
      }
    }
    const onAbort = (): void => end(new Error('the work on media was stopped'))
    const late = (): void => end(new CannotMake('unreadable', `${name} took more than ${seconds} seconds`))
    const timer = setTimeout(late, 1000 * seconds)
    signal.addEventListener('abort', onAbort, { once: true })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (output.length < mostOutput) output += text
    })
    child.once('error', (cause) =>
      ended.reject(new CannotMake('unavailable', `${name} cannot be started`, { cause, needs: name })),
    )
    child.once('close', (code) => {
      if (code === 0) ended.resolve(output)
      else ended.reject(new CannotMake('unreadable', `${name} cannot read the file (exit ${code})`))
    })
    return ended.promise.finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    })
  }

  return {
    has: (name: ProgramName): boolean => found.has(name),

    found: (): readonly ProgramName[] => [...found.keys()],

    /** A frame of a film: not the first one, which is often black. */
    async frame(path: string, folder: string, signal: AbortSignal): Promise<string> {
      const to = join(folder, 'frame.png')
      const seconds = await duration(path, folder, signal).catch(() => 0)
      const at = Math.min(10, seconds / 10).toFixed(2)
      await run('ffmpeg', ['-v', 'error', '-ss', at, '-i', safe(path), '-frames:v', '1', '-y', to], signal, folder)
      await assertThere(to, 'the film has no frame that can be read')
      return to
    },

    /** The picture that a sound carries. */
    async cover(path: string, folder: string, signal: AbortSignal): Promise<string> {
      const to = join(folder, 'cover.png')
      const args = ['-v', 'error', '-i', safe(path), '-an', '-map', '0:v:0', '-frames:v', '1', '-y', to]
      await run('ffmpeg', args, signal, folder).catch((error: unknown) => {
        if (error instanceof CannotMake && error.kind === 'unavailable') throw error
      })
      await assertThere(to, 'the file carries no picture')
      return to
    },

    /** MP4 for browsers, of at most that height. */
    async video(path: string, folder: string, height: number, signal: AbortSignal): Promise<string> {
      const to = join(folder, 'video.mp4')
      const scale = `scale=-2:'min(${height || 100_000},2*trunc(ih/2))'`
      const codecs = ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-crf', '23', '-preset', 'fast', '-c:a', 'aac']
      const args = ['-v', 'error', '-i', safe(path), '-vf', scale, ...codecs, '-movflags', '+faststart', '-y', to]
      await run('ffmpeg', args, signal, folder)
      await assertThere(to, 'ffmpeg made no film')
      return to
    },

    async audio(path: string, folder: string, signal: AbortSignal): Promise<string> {
      const to = join(folder, 'audio.m4a')
      await run(
        'ffmpeg',
        ['-v', 'error', '-i', safe(path), '-vn', '-c:a', 'aac', '-b:a', '192k', '-y', to],
        signal,
        folder,
      )
      await assertThere(to, 'ffmpeg made no sound')
      return to
    },

    async pdf(path: string, extension: string, folder: string, signal: AbortSignal): Promise<string> {
      const into = join(folder, 'pdf')
      await mkdir(into)
      const named = join(folder, `document.${extension}`)
      // The program goes by names.
      await symlink(path, named)
      const profile = `-env:UserInstallation=file://${join(folder, 'profile')}`
      const args = [profile, '--headless', '--norestore', '--convert-to', 'pdf', '--outdir', into, named]
      await run('soffice', args, signal, folder)
      const [made] = await readdir(into)
      if (made === undefined) throw new CannotMake('unreadable', 'soffice made no document')
      return join(into, made)
    },

    /** What ffprobe tells of a film or a sound. */
    async probe(path: string, folder: string, signal: AbortSignal): Promise<unknown> {
      const args = ['-v', 'error', '-of', 'json', '-show_format', '-show_streams', safe(path)]
      return JSON.parse(await run('ffprobe', args, signal, folder))
    },
  }

  async function duration(path: string, folder: string, signal: AbortSignal): Promise<number> {
    const args = ['-v', 'error', '-of', 'csv=p=0', '-show_entries', 'format=duration', safe(path)]
    return Number.parseFloat(await run('ffprobe', args, signal, folder)) || 0
  }
}

/** Never taken for an option or for another protocol. */
function safe(path: string): string {
  return `file:${path}`
}

async function assertThere(path: string, reason: string): Promise<void> {
  await access(path).catch((cause: unknown) => {
    throw new CannotMake('unreadable', reason, { cause })
  })
}

async function find(name: string): Promise<string | null> {
  if (name === '') return null
  const places = isAbsolute(name)
    ? [name]
    : (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name))
  for (const place of places) {
    const there = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (there) return place
  }
  return null
}
