import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { CannotMake } from '../workshop/failure.ts'
import type { ProgramLimits, RunProgram } from './run.ts'

/** Facts about a film or a sound from ffprobe, as the player shows it. */
export interface MediaFacts {
  readonly width?: number
  readonly height?: number
  /** Seconds. */
  readonly duration?: number
  readonly videoCodecs: readonly string[]
  readonly audioCodecs: readonly string[]
}

/** One operation on a file. */
export interface MediaStep {
  readonly path: string
  readonly folder: string
  readonly signal: AbortSignal
}

/**
 * Containers of films and sounds by their contents, whatever the name says. A format that is only a list of other files
 * (HLS, DASH, concat, SDP) or a picture sequence is excluded: the program would read other files chosen by the author of
 * the list.
 */
const containers = (
  '3gp aac ac3 aiff amr ape asf asf_o au avi caf dirac dts dtshd dv eac3 flac flv gxf h261 h263 h264 hevc ivf m4v matroska ' +
  'mjpeg mov mp3 mp4 mpeg mpegts mpegvideo mpc mpc8 mxf nut nuv obu ogg rm shn swf tak tta vc1 vob w64 wav webm wtv wv xwma'
).replaceAll(' ', ',')

/** Seconds that work on a film may take for each second of it, and the limit in any case. */
const secondsEach = 4
const mostMoreSeconds = 6 * 3600

const quiet = ['-v', 'error', '-nostdin', '-hide_banner']

/** Films and sounds, by the programs ffmpeg and ffprobe. */
export function createFfmpeg(run: RunProgram, limits: Pick<ProgramLimits, 'pixels'>) {
  /** Reads only this one file, in the recognised format. */
  const reading = (path: string): string[] => [
    '-protocol_whitelist',
    'file',
    '-format_whitelist',
    containers,
    '-i',
    `file:${path}`,
  ]
  const input = (path: string): string[] => ['-threads', '2', '-max_pixels', String(limits.pixels), ...reading(path)]

  async function facts({ path, folder, signal }: MediaStep): Promise<MediaFacts> {
    const args = ['-v', 'error', '-of', 'json', '-show_format', '-show_streams', ...reading(path)]
    return factsOf(await run('ffprobe', { args, folder, signal }))
  }

  /** Converts a film; `onProgress` is called with the finished part, 0 to 1. */
  async function converted(
    { path, folder, signal }: MediaStep,
    to: string,
    how: readonly string[],
    { duration = 0 }: MediaFacts,
    onProgress: (part: number) => void,
  ): Promise<string> {
    const args = [...quiet, '-progress', 'pipe:1', ...input(path), ...how, ...plain, '-y', to]
    const onLine = (line: string): void => {
      const [, microseconds] = /^out_time_us=(\d+)$/.exec(line) ?? []
      if (microseconds !== undefined && duration > 0) onProgress(Math.min(1, Number(microseconds) / 1e6 / duration))
    }
    const moreSeconds = Math.min(mostMoreSeconds, secondsEach * duration)
    await run('ffmpeg', { args, folder, signal, moreSeconds, onLine })
    await assertThere(to, 'ffmpeg made nothing')
    return to
  }

  return {
    facts,

    /** A frame of a film: not the first one, which is often black. */
    async frame(step: MediaStep): Promise<string> {
      const { path, folder, signal } = step
      const { duration = 0 } = await facts(step)
      const to = join(folder, 'frame.png')
      // Some films cannot be wound forward to the place: then the first frame is used.
      for (const at of duration > 0 ? [Math.min(10, duration / 10), 0] : [0]) {
        const args = [
          ...quiet,
          '-ss',
          at.toFixed(2),
          ...input(path),
          '-map',
          '0:V:0',
          '-vf',
          square,
          '-frames:v',
          '1',
          '-y',
          to,
        ]
        const problem = await run('ffmpeg', { args, folder, signal }).then(
          () => null,
          (error: unknown) => error,
        )
        if (await isThere(to)) return to
        if (problem !== null && at === 0) throw problem
      }
      throw new CannotMake('unreadable', 'the film has no frame that can be read')
    },

    /** The picture embedded in a sound file, or else its waveform. */
    async cover({ path, folder, signal }: MediaStep): Promise<{ readonly path: string; readonly carried: boolean }> {
      const to = join(folder, 'cover.png')
      const carried = [...quiet, ...input(path), '-an', '-map', '0:v:0', '-frames:v', '1', '-y', to]
      await run('ffmpeg', { args: carried, folder, signal }).catch((error: unknown) => {
        if (!(error instanceof CannotMake) || error.kind === 'unavailable') throw error
      })
      if (await isThere(to)) return { path: to, carried: true }
      const filter = '[0:a:0]aformat=channel_layouts=mono,showwavespic=s=1600x600:colors=#4a6a8a:scale=sqrt[waves]'
      const white = 'color=white:s=1600x600[white];[white][waves]overlay=format=auto:shortest=1'
      const args = [...quiet, ...input(path), '-filter_complex', `${filter};${white}`, '-frames:v', '1', '-y', to]
      await run('ffmpeg', { args, folder, signal })
      await assertThere(to, 'the file has no sound that can be read')
      return { path: to, carried: false }
    },

    /** Converts to MP4 for browsers, up to that height. */
    async video(
      step: MediaStep,
      height: number,
      known: MediaFacts,
      onProgress: (part: number) => void,
    ): Promise<string> {
      const smaller = height > 0 ? `,scale=-2:'min(${height - (height % 2)},ih)'` : ''
      const picture = ['-map', '0:V:0', '-vf', `yadif=deint=interlaced,${square}${smaller},setsar=1`]
      const video = ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-crf', '23', '-preset', 'fast', '-threads', '2']
      const how = [...picture, '-map', '0:a:0?', ...video, ...sound, '-b:a', '128k', '-max_muxing_queue_size', '4096']
      return converted(step, join(step.folder, 'video.mp4'), how, known, onProgress)
    },

    async audio(step: MediaStep, known: MediaFacts, onProgress: (part: number) => void): Promise<string> {
      const how = ['-map', '0:a:0', '-vn', ...sound, '-b:a', '192k']
      return converted(step, join(step.folder, 'audio.m4a'), how, known, onProgress)
    },
  }
}

/** Square pixels, with even width and height. */
const square = "scale='max(2,2*trunc(iw*sar/2))':'max(2,2*trunc(ih/2))',setsar=1"

const sound = ['-c:a', 'aac', '-ac', '2']

/** Only picture and sound: no titles, and no places, which recordings of telephones have. */
const plain = ['-sn', '-dn', '-map_metadata', '-1', '-map_chapters', '-1', '-movflags', '+faststart']

interface Stream {
  readonly codec_type?: unknown
  readonly codec_name?: unknown
  readonly width?: unknown
  readonly height?: unknown
  readonly sample_aspect_ratio?: unknown
  readonly disposition?: { readonly attached_pic?: unknown }
  readonly tags?: { readonly rotate?: unknown }
  readonly side_data_list?: readonly { readonly rotation?: unknown }[]
}

function factsOf(json: string): MediaFacts {
  const { streams = [], format = {} } = JSON.parse(json) as {
    streams?: readonly Stream[]
    format?: { readonly duration?: unknown }
  }
  const pictures = streams.filter((one) => one.codec_type === 'video' && one.disposition?.attached_pic !== 1)
  const duration = Number(format.duration)
  return {
    ...(pictures[0] ? shown(pictures[0]) : {}),
    ...(Number.isFinite(duration) && duration > 0 ? { duration: Math.round(1000 * duration) / 1000 } : {}),
    videoCodecs: codecs(pictures),
    audioCodecs: codecs(streams.filter((one) => one.codec_type === 'audio')),
  }
}

function codecs(streams: readonly Stream[]): string[] {
  return [...new Set(streams.flatMap(({ codec_name: name }) => (typeof name === 'string' ? [name] : [])))].slice(0, 20)
}

/** Width and height with square pixels, turned upright. */
function shown(stream: Stream): { width: number; height: number } | object {
  const [width, height] = [Number(stream.width), Number(stream.height)]
  if (!(width > 0 && height > 0)) return {}
  const [across, down] = `${stream.sample_aspect_ratio ?? '1:1'}`.split(':').map(Number)
  const wide = Math.max(1, Math.round(width * (across && down ? across / down : 1)))
  const turn = Math.abs(
    Number(stream.side_data_list?.find((one) => one.rotation !== undefined)?.rotation ?? stream.tags?.rotate ?? 0),
  )
  return turn % 180 === 90 ? { width: height, height: wide } : { width: wide, height }
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

async function assertThere(path: string, reason: string): Promise<void> {
  if (!(await isThere(path))) throw new CannotMake('unreadable', reason)
}
