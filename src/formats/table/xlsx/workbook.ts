/** The parts of a workbook that list its other parts. */

const header = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const packages = 'http://schemas.openxmlformats.org/package/2006'
const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const types = 'application/vnd.openxmlformats-officedocument'

export interface Parts {
  readonly sheets: number
  /** The first sheet has pictures. */
  readonly pictures: boolean
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1)

export const contentTypes = ({ sheets, pictures }: Parts): string =>
  `${header}<Types xmlns="${packages}/content-types">` +
  '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
  '<Default Extension="xml" ContentType="application/xml"/>' +
  '<Default Extension="jpg" ContentType="image/jpeg"/><Default Extension="png" ContentType="image/png"/>' +
  '<Default Extension="gif" ContentType="image/gif"/>' +
  `<Override PartName="/xl/workbook.xml" ContentType="${types}.spreadsheetml.sheet.main+xml"/>` +
  `<Override PartName="/xl/styles.xml" ContentType="${types}.spreadsheetml.styles+xml"/>` +
  numbers(sheets)
    .map(
      (number) =>
        `<Override PartName="/xl/worksheets/sheet${number}.xml" ContentType="${types}.spreadsheetml.worksheet+xml"/>`,
    )
    .join('') +
  (pictures ? `<Override PartName="/xl/drawings/drawing1.xml" ContentType="${types}.drawing+xml"/>` : '') +
  '</Types>'

export const rootRelations = (): string => relations([{ type: `${office}/officeDocument`, target: 'xl/workbook.xml' }])

export const workbook = ({ sheets }: Parts): string =>
  `${header}<workbook xmlns="${main}" xmlns:r="${office}"><sheets>${numbers(sheets)
    .map((number) => `<sheet name="Sheet${number}" sheetId="${number}" r:id="rId${number}"/>`)
    .join('')}</sheets></workbook>`

export const workbookRelations = ({ sheets }: Parts): string =>
  relations([
    ...numbers(sheets).map((number) => ({ type: `${office}/worksheet`, target: `worksheets/sheet${number}.xml` })),
    { type: `${office}/styles`, target: 'styles.xml' },
  ])

export const sheetRelations = (): string =>
  relations([{ type: `${office}/drawing`, target: '../drawings/drawing1.xml' }])

export const pictureRelations = (names: readonly string[]): string =>
  relations(names.map((name) => ({ type: `${office}/image`, target: `../media/${name}` })))

/** `rId1` is the first one. */
function relations(list: readonly { readonly type: string; readonly target: string }[]): string {
  const entries = list.map(
    ({ type, target }, index) => `<Relationship Id="rId${index + 1}" Type="${type}" Target="${target}"/>`,
  )
  return `${header}<Relationships xmlns="${packages}/relationships">${entries.join('')}</Relationships>`
}

/** 0: default, 1: headings, 2: texts (`@`), which stay texts when a person edits them. */
export const styles = (): string =>
  `${header}<styleSheet xmlns="${main}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>` +
  '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill>' +
  '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>' +
  '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="3">' +
  '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>' +
  '<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>' +
  '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs></styleSheet>'

export interface Picture {
  /** Row below the headings, counted from 0. */
  readonly row: number
  /** Pixels. */
  readonly width: number
  readonly height: number
}

const emuOfPixel = 9525

/** Pictures in the first column, each in its row. */
export const drawing = (pictures: readonly Picture[]): string =>
  `${header}<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" ` +
  `xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="${office}">${pictures
    .map(({ row, width, height }, index) => {
      const size = `cx="${Math.round(width * emuOfPixel)}" cy="${Math.round(height * emuOfPixel)}"`
      return (
        `<xdr:oneCellAnchor><xdr:from><xdr:col>0</xdr:col><xdr:colOff>19050</xdr:colOff><xdr:row>${row + 1}</xdr:row>` +
        `<xdr:rowOff>19050</xdr:rowOff></xdr:from><xdr:ext ${size}/><xdr:pic><xdr:nvPicPr>` +
        `<xdr:cNvPr id="${index + 1}" name="Picture ${index + 1}"/><xdr:cNvPicPr/></xdr:nvPicPr><xdr:blipFill>` +
        `<a:blip r:embed="rId${index + 1}"/><a:stretch><a:fillRect/></a:stretch></xdr:blipFill><xdr:spPr><a:xfrm>` +
        `<a:off x="0" y="0"/><a:ext ${size}/></a:xfrm><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></xdr:spPr>` +
        '</xdr:pic><xdr:clientData/></xdr:oneCellAnchor>'
      )
    })
    .join('')}</xdr:wsDr>`
