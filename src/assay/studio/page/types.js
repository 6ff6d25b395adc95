/**
 * The shapes that page and server exchange. Types only: nothing here runs.
 *
 * @typedef {{x: [number, number], y: [number, number]}} View
 * @typedef {"classes" | "numbers"} Task
 * @typedef {string | number | boolean | null} Plain
 * @typedef {Record<string, unknown>} Params
 *
 * @typedef {object} Param
 * @property {string} name
 * @property {"range" | "choice" | "flag" | "free"} kind
 * @property {unknown} default
 * @property {number | null} [low]
 * @property {number | null} [high]
 * @property {boolean} [open_low]
 * @property {boolean} [open_high]
 * @property {boolean} [whole]
 * @property {string[]} [options]
 * @property {(string | null)[]} [words]
 * @property {string} doc
 *
 * @typedef {object} Form
 * @property {string} name
 * @property {string} title
 * @property {string[]} kinds
 * @property {string} about
 * @property {string} word
 * @property {Param[]} params
 *
 * @typedef {{name: string, title: string, about: string}} Dataset
 * @typedef {{id: string, group: string, title: string, look: string[]}} PresetEntry
 *
 * @typedef {object} About
 * @property {string} version
 * @property {Form[]} models
 * @property {Dataset[]} datasets
 * @property {PresetEntry[]} presets
 * @property {Table | null} start
 * @property {{bytes: number, rows: number, points: number, panels: number}} limits
 *
 * @typedef {{points: {x: number[], y: number[], label: string[]}}} ClassData
 * @typedef {{points: {x: number[], target: number[]}}} NumberData
 * @typedef {object} TableData
 * @property {string} table
 * @property {string} target
 * @property {string[]} columns
 * @property {"slice" | "pca" | "lda"} projection
 * @property {Record<string, Plain>} at
 * @property {string[] | null} only
 * @typedef {ClassData | NumberData | TableData | Omit<TableData, "columns" | "at">} Data
 *
 * @typedef {{model: string, params: Params}} PanelSetting
 * @typedef {object} Preset
 * @property {string} id
 * @property {string} group
 * @property {string} title
 * @property {string} note which lecture note and section it is from
 * @property {string[]} look
 * @property {Data} data
 * @property {PanelSetting[]} panels
 * @property {View} view
 * @property {number} speed
 * @property {string[]} show
 * @property {Task} task
 * @property {Place[]} [asked] places without a class whose answer the sentences speak of
 * @property {Axes} [axes] what the two columns of points are
 *
 * @typedef {{name: string, kind: string, levels: Plain[] | null, missing: number}} Column
 * @typedef {object} Table
 * @property {string} id
 * @property {string} name
 * @property {number} n_rows
 * @property {Column[]} columns
 * @property {string | null} target
 * @property {string[]} notes
 *
 * @typedef {{label: string, levels?: Plain[] | null}} Axis
 * @typedef {{x: Axis, y: Axis}} Axes
 * @typedef {object} TablePoints
 * @property {number[]} x
 * @property {number[]} y
 * @property {Plain[] | null} label
 * @property {number[] | null} target
 * @property {number[]} row
 * @property {Axes} axes
 * @property {View} view
 * @property {Plain[] | null} classes
 * @property {string[]} notes
 *
 * @typedef {object} Regions
 * @property {number} w
 * @property {number} h
 * @property {string} [label]
 * @property {string | null} [strength]
 * @property {string} [value]
 * @property {number} [low]
 * @property {number} [high]
 *
 * @typedef {[number, number]} Place
 * @typedef {object} Overlay
 * @property {"line" | "polygon" | "arrow" | "lines" | "marks" | "rectangle"} kind
 * @property {string} role
 * @property {Place[]} [points]
 * @property {Place[][]} [lines]
 * @property {Place[]} [at]
 * @property {string} [label]
 * @property {string[]} [labels]
 * @property {number | number[]} [class]
 * @property {[number, number]} [x]
 * @property {[number, number]} [y]
 *
 * @typedef {object} Measure
 * @property {string} name
 * @property {number | null} value
 * @property {number | null} of
 * @property {string} text
 * @property {"linear" | "log"} scale
 * @property {"down" | "up" | null} better
 *
 * @typedef {object} Begin
 * @property {"begin"} kind
 * @property {Task} task
 * @property {Plain[] | null} classes
 * @property {Axes | null} axes
 * @property {number | null} total
 * @property {string} word
 * @property {Code | null} code
 * @property {string | null} support
 *
 * @typedef {object} Frame
 * @property {"frame"} kind
 * @property {number} step
 * @property {string} caption
 * @property {string[]} arithmetic
 * @property {Regions | null} regions
 * @property {{x: number[], y: number[]} | null} curve
 * @property {Overlay[]} overlays
 * @property {Measure[]} measures
 * @property {{training: number | null, loss: string} | null} risk
 * @property {Place} [at]
 *
 * @typedef {{value: number, low: number, high: number, rows: number, how: string}} HeldOut
 * @typedef {{name: string, status: "proof" | "estimate" | "warning", text: string, holds: boolean | null}} Claim
 *
 * @typedef {object} End
 * @property {"end"} kind
 * @property {number} step
 * @property {number} seconds
 * @property {string | null} model
 * @property {{loss: string, training: number | null, held_out?: HeldOut | null}} risk
 * @property {Claim[]} certificate
 * @property {string[]} notes
 *
 * @typedef {{begin: Begin, frame: Frame, end: End}} Fitted
 * @typedef {{kind: "error", error: string}} Failure
 * @typedef {Begin | Frame | End | Failure} PlayLine
 * @typedef {{overlays: Overlay[], text: string}} Near
 * @typedef {{w: number, h: number, value: string, low: number, high: number, x: [number, number], y: [number, number], labels: string[], least: Place, lines: Place[][]}} Surface
 *
 * @typedef {object} CompareRow
 * @property {"row"} kind
 * @property {string} name
 * @property {string} [title] the name among people
 * @property {string} [state] waiting, running, done, left out, or how it ended
 * @property {number} [share] of its work that is done
 * @property {number | null} risk
 * @property {number | null} low
 * @property {number | null} high
 * @property {number | null} seconds
 * @property {string | null} note
 *
 * @typedef {{python: string, shell: string, file?: string, name?: string}} Code file and name: what to save first, and as what
 *
 * @typedef {{kind: "doing", text: string}} Doing
 *
 * @typedef {object} CompareEnd
 * @property {"end"} kind
 * @property {string | null} report
 * @property {string} text
 * @property {Code} code
 * @property {string | null} [recommended]
 * @property {string | null} [model]
 * @property {string[]} [notes]
 *
 * @typedef {{model: string, name: string, columns: string[], classes: Plain[] | null, target: string | null, params?: Params, notes: string[]}} LoadedModel
 *
 * @typedef {{x: number, y: number, label: string}} Point a drawn point; in regression y is the target and label is empty
 */
export {};
