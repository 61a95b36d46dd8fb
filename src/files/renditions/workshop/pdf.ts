import { readFile } from 'node:fs/promises'
import { CannotMake, reasonOf } from './failure.ts'
import type { RawPicture } from './heif.ts'
import type { PageRun } from './tasks.ts'
import type { TextBuffer } from './text-buffer.ts'

/**
 * Draws a page of a document, counted from 1, with its longest side so many pixels long. Also answers the number of
 * pages.
 * @throws {CannotMake}
 */
export async function drawPage(
  path: string,
  longest: number,
  pixels: number,
  number = 1,
): Promise<{ raw: RawPicture; pages: number }> {
  const pdfium = await library()
  const document = await pdfium.loadDocument(await readFile(path)).catch((cause: unknown) => {
    pdfium.destroy()
    throw new CannotMake('unreadable', reasonOf(cause), { cause })
  })
  try {
    const pages = document.getPageCount()
    if (number > pages) throw new CannotMake('unreadable', `the document has ${pages || 'no'} pages`)
    const page = document.getPage(number - 1)
    const { originalWidth: width, originalHeight: height } = page.getOriginalSize()
    const scale = Math.min(longest / Math.max(width, height, 1), Math.sqrt(pixels / Math.max(width * height, 1)))
    const drawn = await page.render({ scale, render: 'bitmap' })
    return { pages, raw: { data: Buffer.from(drawn.data), width: drawn.width, height: drawn.height, channels: 4 } }
  } catch (cause) {
    if (cause instanceof CannotMake) throw cause
    throw new CannotMake('unreadable', reasonOf(cause), { cause })
  } finally {
    document.destroy()
    pdfium.destroy()
  }
}

/** Most pages whose text is read. */
const mostPages = 5000

/** Most pages whose sizes are answered. */
const mostSizes = 2000

/** Puts the text of a document into the buffer; answers the number of its pages, and their sizes. @throws {CannotMake} */
export async function pdfText(
  path: string,
  buffer: TextBuffer,
): Promise<{ readonly pages: number; readonly sizes: readonly PageRun[] }> {
  const pdfium = await library()
  const document = await pdfium.loadDocument(await readFile(path)).catch((cause: unknown) => {
    pdfium.destroy()
    throw new CannotMake('unreadable', reasonOf(cause), { cause })
  })
  try {
    const pages = document.getPageCount()
    for (let number = 0; number < Math.min(pages, mostPages) && !buffer.full; number++) {
      buffer.add(`${document.getPage(number).getText()}\n`)
    }
    const sizes: PageRun[] = []
    for (let number = 0; number < Math.min(pages, mostSizes); number++) {
      const { originalWidth, originalHeight } = document.getPage(number).getOriginalSize()
      addSize(sizes, Math.round(originalWidth), Math.round(originalHeight))
    }
    return { pages, sizes }
  } catch (cause) {
    throw new CannotMake('unreadable', reasonOf(cause), { cause })
  } finally {
    document.destroy()
    pdfium.destroy()
  }
}

function addSize(sizes: PageRun[], width: number, height: number): void {
  const last = sizes.at(-1)
  if (last?.[0] === width && last[1] === height) sizes[sizes.length - 1] = [width, height, last[2] + 1]
  else sizes.push([width, height, 1])
}

async function library() {
  try {
    const { PDFiumLibrary } = await import('@hyzyla/pdfium')
    return await PDFiumLibrary.init()
  } catch (cause) {
    throw new CannotMake('unavailable', 'pages of PDF need the package @hyzyla/pdfium', {
      cause,
      needs: '@hyzyla/pdfium',
    })
  }
}
