import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { badRequest } from '../../platform/errors.ts'
import type { Model } from '../model.ts'
import { graphDot } from './dot.ts'

export type GraphFormat = 'svg' | 'png'

/** Longest layout; datamodels of some hundred object types take seconds. */
const timeout = 60_000
/** The largest width and height of a picture; larger ones are scaled down: viewers refuse them, and memory is finite. */
const maxPixels = 8000
const keptGraphs = 8

export type GraphRenderer = ReturnType<typeof createGraphRenderer>

/**
 * Draws graphs of object types, one at a time, and keeps the latest ones: a version never changes, so its graph is drawn once.
 * `key` identifies the graph.
 */
export function createGraphRenderer() {
  const drawn = new Map<string, Promise<string>>()
  let queue: Promise<unknown> = Promise.resolve()

  function svgOf(key: string, model: Model): Promise<string> {
    const known = drawn.get(key)
    if (known) return known
    const svg = queue.then(() => layout(graphDot(model)))
    queue = svg.catch(() => {})
    drawn.set(key, svg)
    svg.catch(() => drawn.delete(key))
    const [oldest] = drawn.keys()
    if (drawn.size > keptGraphs && oldest !== undefined) drawn.delete(oldest)
    return svg
  }

  return {
    /** @throws {AppError} `ServerGeneric` when the graph is too large to be drawn in time. */
    async render(key: string, model: Model, format: GraphFormat): Promise<Buffer> {
      const svg = Buffer.from(await svgOf(key, model))
      return format === 'svg' ? svg : toPng(svg)
    },
  }
}

function layout(dot: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(`./worker${extname(import.meta.url)}`, import.meta.url), {
      workerData: dot,
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    })
    const timer = setTimeout(() => {
      reject(badRequest('The graph is too large to be drawn.', { timeout }))
      void worker.terminate()
    }, timeout)
    worker.once('message', (svg: string) => resolve(withSmallerText(svg)))
    worker.once('error', reject)
    worker.once('exit', () => {
      clearTimeout(timer)
      reject(badRequest('The graph cannot be drawn.'))
    })
  })
}

/**
 * Boxes are measured for Helvetica, but drawn with the font of the viewer, which is often wider. So text is drawn slightly smaller
 * than it was measured.
 */
function withSmallerText(svg: string): string {
  return svg.replaceAll(/font-size="([\d.]+)"/g, (_, size: string) => `font-size="${(Number(size) * 0.87).toFixed(2)}"`)
}

/** Draws it larger, so that small letters stay sharp, unless the result would be too large. */
async function toPng(svg: Buffer): Promise<Buffer> {
  // Loaded only on request, because it takes megabytes of memory.
  const { default: sharp } = await import('sharp')
  const { width = 1, height = 1 } = await sharp(svg, { unlimited: true }).metadata()
  const scale = Math.min(1.5, maxPixels / Math.max(width, height))
  return sharp(svg, { density: Math.max(1, 72 * scale), unlimited: true })
    .png()
    .toBuffer()
}
