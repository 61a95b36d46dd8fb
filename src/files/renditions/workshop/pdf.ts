import { readFile } from 'node:fs/promises'
import { CannotMake, reasonOf } from './failure.ts'
import type { RawPicture } from './heif.ts'
import type { TextBuffer } from './text-buffer.ts'

/** The first page of a document, its longest side so many pixels long, and how many pages there are. @throws {CannotMake} */
export async function drawPage(
  path: string,
  longest: number,
  pixels: number,
): Promise<{ raw: RawPicture; pages: number }> {
  const pdfium = await library()
  const document = await pdfium.loadDocument(await readFile(path)).catch((cause: unknown) => {
    pdfium.destroy()
    throw new CannotMake('unreadable', reasonOf(cause), { cause })
  })
  try {
    const pages = document.getPageCount()
    if (pages < 1) throw new CannotMake('unreadable', 'the document has no pages')
    const page = document.getPage(0)
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

/** Pages whose text is read. */
const mostPages = 5000

/** Puts the text of a document into the buffer, and gives how many pages it has. @throws {CannotMake} */
export async function pdfText(path: string, buffer: TextBuffer): Promise<number> {
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
    return pages
  } catch (cause) {
    throw new CannotMake('unreadable', reasonOf(cause), { cause })
  } finally {
    document.destroy()
    pdfium.destroy()
  }
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
